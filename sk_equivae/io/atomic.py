from ..files.atomic import write_whole  # noqa
