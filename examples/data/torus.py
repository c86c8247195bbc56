"""Writes torus.obj: a torus around the z axis, radii 1 and 0.4, of 32 by 16 four-cornered faces."""

from math import cos, pi, sin

ROUND, ACROSS = 32, 16

with open("torus.obj", "w", encoding="ascii") as out:
    out.write("# torus around the z axis, radii 1 and 0.4, written by torus.py\n")
    for i in range(ROUND):
        u = 2 * pi * i / ROUND
        for j in range(ACROSS):
            v = 2 * pi * j / ACROSS
            r = 1 + 0.4 * cos(v)
            out.write(f"v {r * cos(u):.6f} {r * sin(u):.6f} {0.4 * sin(v):.6f}\n")
    for i in range(ROUND):
        for j in range(ACROSS):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            out.write("f " + " ".join(str(a % ROUND * ACROSS + b % ACROSS + 1) for a, b in corners) + "\n")
