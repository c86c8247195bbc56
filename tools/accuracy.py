#!/usr/bin/env python3
"""Measures the f64 functions of `millstream_base::num` with mpmath.

    cargo run --release -p millstream-base --example accuracy -- --dump | python3 tools/accuracy.py

Prints the largest error of each function in ULP, with its argument; the arguments are those at which
`libm` gives another result. Infinite and NaN results are compared only if the exact value is finite
and representable; the tests of the crate check the others.
"""
import struct
import sys
from mpmath import mp, mpf

mp.prec = 160
FUNCTIONS = {
    "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan,
    "sinh": mp.sinh, "cosh": mp.cosh, "tanh": mp.tanh, "asinh": mp.asinh, "acosh": mp.acosh,
    "atanh": mp.atanh, "exp": mp.exp, "exp2": lambda x: mp.power(2, x), "exp_m1": mp.expm1,
    "ln": mp.log, "ln_1p": mp.log1p, "log2": lambda x: mp.log(x, 2), "log10": lambda x: mp.log(x, 10),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "pow": mp.power, "atan2": mp.atan2, "hypot": mp.hypot,
    "erf": mp.erf, "erfc": mp.erfc, "gamma": mp.gamma, "ln_gamma": lambda x: mp.log(abs(mp.gamma(x))),
}


def is_left_out(name, x):
    """Arguments for which mpmath is slow, and those near which the logarithm crosses zero between floats."""
    return {"erfc": x > 30, "gamma": abs(x) > 200, "ln_gamma": x < 0 or x > 1e6}.get(name, False)


def float_of(word):
    return struct.unpack(">d", bytes.fromhex(word))[0]


def main():
    worst = {}
    for line in sys.stdin:
        name, *words = line.split()
        *args, found = map(float_of, words)
        if not all(mp.isfinite(x) for x in args) or (name in ("exp", "exp2", "exp_m1", "sinh", "cosh", "tanh") and abs(args[0]) > 1100):
            continue
        if is_left_out(name, args[0]):
            continue
        if name == "pow" and args[0] > 0 and abs(mpf(args[1]) * mp.log(mpf(args[0]))) > 1000:
            continue
        try:
            exact = FUNCTIONS[name](*map(mpf, args))
        except (ValueError, ZeroDivisionError):
            continue
        if not isinstance(exact, mpf) or not mp.isfinite(exact):
            continue
        if abs(exact) >= mpf(2) ** 1024 - mpf(2) ** 970:
            error = mpf(0) if abs(found) == float("inf") else mp.inf
        elif exact == 0:
            error = abs(mpf(found)) and mp.inf
        elif not mp.isfinite(found):
            error = mp.inf
        else:
            exponent = max(mp.frexp(exact)[1] - 1, -1022)
            error = abs(mpf(found) - exact) / mpf(2) ** (exponent - 52)
        if name not in worst or error > worst[name][0]:
            worst[name] = (error, args, found)
    for name, (error, args, found) in worst.items():
        print(f"{name:8} {mp.nstr(error, 5):>9} ULP at {args} gives {found!r}")


if __name__ == "__main__":
    main()
