"""Serve a model that `to_onnx` has written, with onnxruntime and FastAPI.

Neither PyTorch nor this library is needed where it runs::

    pip install fastapi uvicorn onnxruntime pillow
    MODEL=model.onnx uvicorn serve:app

A request has rows as JSON, or one image as PNG::

    curl localhost:8000/predict -H "Content-Type: application/json" -d '{"rows": [[0.1, 0.2]]}'
    curl localhost:8000/predict -H "Content-Type: image/png" --data-binary @digit.png
"""

import io
import json
import os

import numpy as np
import onnxruntime
from fastapi import FastAPI, HTTPException, Request

DTYPES = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32, "tensor(double)": np.float64}


def make_app(path: str) -> FastAPI:
    """Return an app that answers with class probabilities."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # requests come in parallel
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    dtype, row_shape = DTYPES[given.type], tuple(given.shape[1:])
    classes = json.loads(session.get_modelmeta().custom_metadata_map["sk_equivae.classes"])
    app = FastAPI()

    def remedy(shape: tuple[int, ...]) -> str:
        if len(row_shape) == 1 or len(shape) < 2:
            return "Bring X to the shape it had in fit."
        height, width, channels = (*row_shape, 1)[:3]
        several = "channel" if channels == 1 else "channels"
        if shape[:2] == (height, width):
            return f"Convert the images to {channels} {several}."
        return f"Resize the images to {height}x{width} pixels, with {channels} {several}."

    def check(rows: np.ndarray) -> np.ndarray:
        if rows.ndim < 1 or rows.shape[1:] != row_shape or len(rows) == 0:
            raise HTTPException(
                422,
                f"Expected rows of shape {row_shape}, as in fit; got {rows.shape[1:]}. "
                + remedy(rows.shape[1:]),
            )
        return rows

    def from_png(content: bytes) -> np.ndarray:
        from PIL import Image, UnidentifiedImageError

        try:
            with Image.open(io.BytesIO(content)) as image:
                pixels = np.asarray(image.convert("L" if len(row_shape) == 2 else "RGB"))
        except (UnidentifiedImageError, OSError, Image.DecompressionBombError) as error:
            raise HTTPException(422, f"Expected a PNG image; got: {error}") from error
        scaled = pixels if dtype == np.uint8 else pixels / 255
        return scaled[np.newaxis].astype(dtype)

    def from_json(content: bytes) -> np.ndarray:
        try:
            rows = np.asarray(json.loads(content)["rows"], dtype=np.float64)
        except (ValueError, KeyError, TypeError) as error:
            raise HTTPException(
                422, f'Expected {{"rows": [...]}} with numbers; got {type(error).__name__}: {error}'
            ) from error
        if not np.isfinite(rows).all():
            raise HTTPException(422, "Expected finite numbers; got NaN or infinity.")
        return rows.astype(dtype)

    @app.post("/predict")
    async def predict(request: Request) -> dict:
        content = await request.body()
        is_png = request.headers.get("content-type", "") == "image/png"
        rows = check(from_png(content) if is_png else from_json(content))
        (probabilities,) = session.run(None, {given.name: rows})
        best = probabilities.argmax(axis=1)
        return {
            "classes": classes,
            "predictions": [classes[i] for i in best],
            "probabilities": probabilities.tolist(),
        }

    return app


if "MODEL" in os.environ:
    app = make_app(os.environ["MODEL"])
