"""Times OpenCV and libvips beside `main.rs`, on one thread.

A line per task and library, in milliseconds of processor time: least and median of several runs. Needs the packages
opencv-python-headless, pyvips[binary] and numpy.
"""

import os

os.environ["VIPS_CONCURRENCY"] = "1"

import sys
import time

import cv2
import numpy as np
import pyvips

cv2.setNumThreads(1)
cv2.setUseOptimized(True)
pyvips.cache_set_max(0)

W, H = 1920, 1080
rng = np.random.default_rng(1)
only = sys.argv[1] if len(sys.argv) > 1 else ""


def clock(task, library, work):
    if only not in f"{task} {library}":
        return
    times = []
    begin = time.perf_counter()
    while len(times) < 3 or (len(times) < 25 and time.perf_counter() - begin < 2):
        start = time.process_time()
        work()
        times.append(1e3 * (time.process_time() - start))
    times.sort()
    print(f"{task}\t{library}\t{times[0]:.2f}\t{times[len(times) // 2]:.2f}", flush=True)


def pixels(n, kind):
    smooth = (np.sin(np.arange(W) * 0.01) * 0.4 + 0.4)[None, :, None]
    values = (smooth + 0.2 * rng.random((H, W, n))).astype(np.float32)
    if kind == "u8":
        values = (values * 255).astype(np.uint8)
    return values[:, :, 0] if n == 1 else values


RADIUS = 20
SIGMA = RADIUS / 3
WINDOW = 2 * RADIUS + 1
for kind in ["f32", "u8"]:
    for n in [3, 4]:
        image = pixels(n, kind)
        what = f"{n} {kind}"
        clock(f"gaussian 20, {what}", "opencv", lambda: cv2.GaussianBlur(image, (WINDOW, WINDOW), SIGMA, borderType=cv2.BORDER_REPLICATE))
        clock(f"box 20, {what}", "opencv", lambda: cv2.blur(image, (WINDOW, WINDOW), borderType=cv2.BORDER_REPLICATE))
        square = np.ones((21, 21), np.uint8)
        clock(f"dilate 10, {what}", "opencv", lambda: cv2.dilate(image, square))
        y, x = np.mgrid[-10:11, -10:11]
        disc = (x * x + y * y <= 100).astype(np.uint8)
        clock(f"dilate disc 10, {what}", "opencv", lambda: cv2.dilate(image, disc))
        for size in [(1280, 720), (3840, 2160)]:
            clock(f"lanczos {size[0]}, {what}", "opencv (8 taps, no antialiasing)", lambda: cv2.resize(image, size, interpolation=cv2.INTER_LANCZOS4))
        vips = pyvips.Image.new_from_memory(image.tobytes(), W, H, n, "float" if kind == "f32" else "uchar")
        clock(f"gaussian 20, {what}", "vips", lambda: vips.gaussblur(SIGMA, min_ampl=0.012, precision="float").write_to_memory())
        if kind == "u8":
            clock(f"gaussian 20, {what}", "vips (integers)", lambda: vips.gaussblur(SIGMA, min_ampl=0.012).write_to_memory())
        for size in [(1280, 720), (3840, 2160)]:
            clock(f"lanczos {size[0]}, {what}", "vips", lambda: vips.resize(size[0] / W, vscale=size[1] / H, kernel="lanczos3").write_to_memory())
        if kind == "f32":
            continue
        clock(f"dilate 10, {what}", "vips (rank)", lambda: vips.rank(21, 21, 440).write_to_memory())

y, x = np.mgrid[0:H, 0:W]
discs = ((x % 192 - 96) ** 2 + (y % 192 - 96) ** 2 < 40 * 40) | ((x % 192 == 0) & (y % 192 == 0))
dot = np.zeros((H, W), bool)
dot[H // 2, W // 2] = True
for name, mask in [("discs", discs), ("dot", dot)]:
    outside = (~mask).astype(np.uint8)
    inside = mask.astype(np.uint8)
    exact = cv2.DIST_MASK_PRECISE
    clock(f"distance {name}", "opencv (unsigned)", lambda: cv2.distanceTransform(outside, cv2.DIST_L2, exact))
    clock(f"distance {name}", "opencv (signed, twice)", lambda: cv2.distanceTransform(outside, cv2.DIST_L2, exact) - cv2.distanceTransform(inside, cv2.DIST_L2, exact))
    clock(f"distance {name}", "opencv (unsigned, 5x5 approximation)", lambda: cv2.distanceTransform(outside, cv2.DIST_L2, 5))
