"""Official file formats, made-up rows, and draws of labels."""
