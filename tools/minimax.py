#!/usr/bin/env python3
"""Computes the constants of `crates/base/src/num/constants.rs`; needs mpmath.

    python3 tools/minimax.py > crates/base/src/num/constants.rs

Polynomials minimize the largest weighted error; they are found by the exchange algorithm of
Remez (E. Remez, 1934; as described in W. J. Cody, W. Fraser, J. F. Hart, "Rational Chebyshev
approximation using linear equations", Numer. Math. 12, 1968). Each line states the largest
weighted error before the coefficients are rounded to f64. The functions are the remainders of
Taylor series after their first, exact terms; the files of `crates/base/src/num` use them.
"""
import struct
from mpmath import mp, mpf

mp.dps = 60


def remez(f, weight, a, b, degree):
    """Coefficients, lowest first, of the polynomial with the least max |(p - f) weight|."""
    a, b = mpf(a), mpf(b)
    n = degree + 2
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / n) for i in range(n)]
    grid = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / (24 * n)) for i in range(24 * n + 1)]
    # Weights may vanish at 0, so no point may be 0.
    points = [x if abs(x) > (b - a) * mpf(10) ** -12 else (b - a) / 1000 for x in points]
    if a == 0:
        grid = grid[1:]
    elif a < 0 < b:
        grid = [x for x in grid if abs(x) > (b - a) * mpf(10) ** -12]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(12):
        system, right = mp.matrix(n, n), mp.matrix(n, 1)
        for i, x in enumerate(points):
            for j in range(degree + 1):
                system[i, j] = x**j
            system[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = mp.lu_solve(system, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        errors = [(mp.polyval(coefficients[::-1], x) - v) * w for x, v, w in zip(grid, values, weights)]
        peaks = []
        for x, e in zip(grid, errors):
            if peaks and (e > 0) == (peaks[-1][1] > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        largest = max(abs(e) for _, e in peaks)
        if len(peaks) < n or largest < abs(solution[degree + 1]) * mpf("1.02"):
            break
        points = [x for x, _ in peaks]
    return coefficients, max(abs(e) for e in errors)


def rest(f, x0):
    """`f` away from 0, and its limit `x0` at 0."""
    return lambda x: f(x) if abs(x) > mpf(10) ** -9 else mpf(x0)


def cut(x, bits):
    """`x` with its leading `bits` bits."""
    m, e = mp.frexp(x)
    return mp.ldexp(mp.floor(mp.ldexp(m, bits)), e - bits)


def bits(x):
    return "0x%016x" % struct.unpack("<Q", struct.pack("<d", float(x)))[0]


def number(x):
    text = repr(float(x))
    mantissa, _, exponent = text.partition("e")
    whole, _, fraction = mantissa.partition(".")
    group = lambda digits, size: "_".join(digits[i : i + size] for i in range(0, len(digits), size))
    fraction = group(fraction, 3) or "0"
    return whole + "." + fraction + ("e" + str(int(exponent)) if exponent else "")


def constant(name, about, value):
    print(f"/// {about}")
    print(f"pub(super) const {name}: f64 = {number(value)};")


def single(x):
    """The nearest f32, with just enough digits to distinguish it from others."""
    near = struct.unpack("<f", struct.pack("<f", float(x)))[0]
    for digits in range(6, 10):
        text = f"{near:.{digits}g}"
        if struct.unpack("<f", struct.pack("<f", float(text)))[0] == near:
            break
    return number(text)


def parts(name, about, value, lengths, kind="f64"):
    """`value` as a sum of numbers with these lengths in bits, the last one rounded."""
    show = number if kind == "f64" else single
    found = []
    for length in lengths[:-1]:
        part = cut(value, length)
        found.append(part)
        value -= part
    found.append(value)
    print(f"/// {about}")
    print(f"pub(super) const {name}: [{kind}; {len(found)}] = [")
    for part in found:
        print(f"    {show(part)},")
    print("];")


def polynomial(name, about, f, weight, a, b, degree, kind="f64"):
    show = number if kind == "f64" else single
    coefficients, error = remez(f, weight, a, b, degree)
    size = mp.nstr(mp.log(error, 2), 4)
    print(f"/// {about}; error 2^{size}.")
    print(f"pub(super) const {name}: [{kind}; {degree + 1}] = [")
    for c in coefficients:
        print(f"    {show(c)},")
    print("];")


def main():
    print("//! Constants of the elementary functions; written by `tools/minimax.py`, which explains them.")
    print()
    pi, ln2, one = mp.pi, mp.log(2), mpf(1)
    parts("LN_2", "ln 2 as a number of 32 bits and the rest.", ln2, [32, 53])
    parts("LN_2_F32", "ln 2 as a number of 15 bits and the rest, for f32.", ln2, [15, 24], "f32")
    parts("LN_2_26", "ln 2 as a number of 26 bits and the rest.", ln2, [26, 53])
    parts("LOG2_E", "1 / ln 2 as a number of 26 bits and the rest.", 1 / ln2, [26, 53])
    parts("LOG10_E", "1 / ln 10 as a number of 26 bits and the rest.", 1 / mp.log(10), [26, 53])
    parts("LOG10_2", "log10 2 as a number of 32 bits and the rest.", mp.log(2, 10), [32, 53])
    parts("LN_2_POW", "ln 2 in three parts, two of 32 bits.", ln2, [32, 32, 53])
    parts("FRAC_PI_2", "pi / 2 in four parts, three of 33 bits.", pi / 2, [33, 33, 33, 53])
    parts("FRAC_PI_2_F32", "pi / 2 as a number of 29 bits and the rest.", pi / 2, [29, 53])
    parts(
        "FRAC_1_PI_F32", "1 / pi as a number of 29 bits and the rest, which is positive so that -0 is preserved.",
        1 / pi, [29, 53],
    )
    parts("THIRD", "1 / 3 and the remainder.", one / 3, [53, 53])
    constant("FRAC_PI_2_LOW", "pi / 2 minus the nearest f64.", pi / 2 - mpf(float(pi / 2)))
    constant("PI_LOW", "pi minus the nearest f64.", pi - mpf(float(pi)))
    constant("FRAC_PI_4_LOW", "pi / 4 minus the nearest f64.", pi / 4 - mpf(float(pi / 4)))
    mp.dps = 420
    digits = int(mp.floor(mp.ldexp(2 / mp.pi, 64 * 20)))
    mp.dps = 60
    print("/// The first 1280 bits of 2 / pi after the binary point, highest first.")
    print("pub(super) const TWO_OVER_PI: [u64; 20] = [")
    for i in range(20):
        word = "%016x" % (digits >> (64 * (19 - i)) & (2**64 - 1))
        print("    0x" + "_".join(word[j : j + 4] for j in range(0, 16, 4)) + ",")
    print("];")

    half = ln2 / 2 * mpf("1.0001")
    exp_rest = rest(lambda r: (mp.expm1(r) - r) / r**2, one / 2)
    polynomial("EXP", "(e^r - 1 - r) / r^2 for |r| up to ln 2 / 2", exp_rest, lambda r: r**2, -half, half, 10)
    polynomial("EXP_SHORT", "(e^r - 1 - r) / r^2, short", exp_rest, lambda r: r**2, -half, half, 5)
    polynomial("EXP_F32", "(e^r - 1 - r) / r^2, for f32", exp_rest, lambda r: r**2, -half, half, 4, "f32")
    polynomial(
        "EXP2_F32", "(2^r - 1) / r for |r| up to 1/2",
        rest(lambda r: mp.expm1(r * ln2) / r, ln2), abs, mpf("-0.50001"), mpf("0.50001"), 6,
    )
    z = (pi / 4 * mpf("1.0001")) ** 2
    root = mp.sqrt
    polynomial(
        "SIN", "(sin r - r) / r^3 over z = r^2, |r| up to pi / 4",
        rest(lambda z: (mp.sin(root(z)) / root(z) - 1) / z, -one / 6), abs, 0, z, 5,
    )
    polynomial(
        "COS", "(cos r - 1 + z / 2) / z^2 over z = r^2, |r| up to pi / 4",
        rest(lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2, one / 24), lambda z: z**2, 0, z, 5,
    )
    half_turns = lambda z: mp.sin(pi * root(z)) / root(z)
    polynomial(
        "SIN_F32", "sin(pi r) / r over z = r^2, |r| up to 0.502",
        half_turns, lambda z: 1 / half_turns(z), 0, mpf("0.502") ** 2, 4,
    )
    s = ((root(mpf(2)) - 1) / (root(mpf(2)) + 1) * mpf("1.0001")) ** 2
    atanh_rest = lambda z: (mp.atanh(root(z)) / root(z) - 1) / z
    polynomial(
        "LN", "2 (atanh s - s) / s^3 over z = s^2, 1 + f = (1 + s) / (1 - s)",
        rest(lambda z: 2 * atanh_rest(z), one * 2 / 3), abs, 0, s, 6,
    )
    polynomial(
        "LN_POW", "(atanh s - s - s^3 / 3) / s^5 over z = s^2",
        rest(lambda z: (atanh_rest(z) - one / 3) / z, one / 5), lambda z: z**2, 0, s, 7,
    )
    polynomial(
        "LN_F32", "(ln(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt 2",
        lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3 if abs(f) > mpf(10) ** -9 else one / 3,
        lambda f: abs(f**3 / mp.log1p(f)) if f else mpf(0),
        root(one / 2) * mpf("0.99999") - 1, root(mpf(2)) * mpf("1.00001") - 1, 8, "f32",
    )
    polynomial(
        "LN_SHORT", "(ln(1 + f) - f) / f^2 for 1 + f from sqrt(1/2) to sqrt 2",
        rest(lambda f: (mp.log1p(f) - f) / f**2, -one / 2), lambda f: abs(f * f / mp.log1p(f)),
        root(one / 2) * mpf("0.99999") - 1, root(mpf(2)) * mpf("1.00001") - 1, 9,
    )
    polynomial(
        "ASIN", "(asin x - x) / x^3 over z = x^2, |x| up to 1/2",
        rest(lambda z: (mp.asin(root(z)) / root(z) - 1) / z, one / 6), abs, 0, mpf("0.2501"), 12,
    )
    t = (root(mpf(2)) - 1) * mpf("1.0001")
    atan_rest = rest(lambda z: (mp.atan(root(z)) / root(z) - 1) / z, -one / 3)
    polynomial("ATAN", "(atan t - t) / t^3 over z = t^2, |t| up to tan(pi / 8)", atan_rest, abs, 0, t**2, 11)
    polynomial(
        "SINH", "(sinh x - x) / x^3 over z = x^2, |x| up to 1",
        rest(lambda z: (mp.sinh(root(z)) / root(z) - 1) / z, one / 6), abs, 0, mpf("1.001"), 7,
    )
    parts("HALF_LN_TAU", "Half of ln (2 pi) and the remainder.", mp.log(2 * pi) / 2, [53, 53])
    polynomial(
        "ERF", "(erf x / x - 1) over z = x^2, |x| up to 1",
        rest(lambda z: mp.erf(root(z)) / root(z) - 1, 2 / root(pi) - 1), lambda z: one, 0, mpf("1.0001"), 13,
    )
    middle = mpf("3.75")
    place = lambda x: (mpf(x) - middle) / (mpf(x) + middle)

    def erfc_flat(t):
        x = middle * (1 + t) / (1 - t)
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)

    polynomial(
        "ERFC", "(1 + 2 x) e^(x^2) erfc x over t = (x - 3.75) / (x + 3.75), x from 0.65 to 28",
        erfc_flat, lambda t: one, place("0.6499"), place(28), 22,
    )

    def ln_gamma_flat(y):
        x = y + mpf("1.75")
        if abs(x - 1) < mpf(10) ** -12:
            return mp.euler
        if abs(x - 2) < mpf(10) ** -12:
            return 1 - mp.euler
        return mp.loggamma(x) / ((x - 1) * (x - 2))

    polynomial(
        "LN_GAMMA", "ln gamma x / ((x - 1) (x - 2)) over x - 1.75, x from 0.75 to 2.75",
        ln_gamma_flat, lambda y: one, -1, 1, 32,
    )

    def stirling(z):
        x = 1 / root(z)
        return (mp.loggamma(x) - ((x - one / 2) * mp.log(x) - x + mp.log(2 * pi) / 2)) * x

    polynomial(
        "STIRLING", "x times (ln gamma x minus Stirling's formula), over 1 / x^2, x from 2.75",
        lambda z: stirling(z) if z else one / 12, root, 0, 1 / mpf("2.7499") ** 2, 13,
    )


if __name__ == "__main__":
    main()
