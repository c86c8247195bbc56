// The loops that one would write by hand, timed on request: each line of the input is
// "NAME N REPEATS", each line of the output the seconds of every repeat. Inputs are made by the same
// rule as in peers.rs; the sum of the last results goes to the end of the line, for comparison.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

struct Vec3 {
    float x, y, z;
};

static float at(uint32_t salt, uint32_t i) {
    uint32_t h = (i + 1) * 0x9e3779b1u ^ salt * 0x85ebca77u;
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    return float(h >> 8) / 16777216.0f;
}

static std::vector<Vec3> points(uint32_t salt, size_t n, float scale) {
    std::vector<Vec3> all(n);
    for (size_t i = 0; i < n; i++) {
        uint32_t k = uint32_t(i) * 3;
        all[i] = {at(salt, k) * scale, at(salt, k + 1) * scale, at(salt, k + 2) * scale};
    }
    return all;
}

static inline float distance(Vec3 a, Vec3 b) {
    float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return std::sqrt(x * x + y * y + z * z);
}

__attribute__((noinline)) static void heron(const Vec3 *a, const Vec3 *b, const Vec3 *c,
                                            float *area, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float ab = distance(a[i], b[i]), ac = distance(a[i], c[i]), bc = distance(b[i], c[i]);
        float s = (ab + ac + bc) / 2.0f;
        area[i] = std::sqrt(s * (s - ab) * (s - ac) * (s - bc));
    }
}

__attribute__((noinline)) static void horner(const float *x, float *y, size_t n) {
    float c[17];
    for (int k = 0; k < 17; k++) c[k] = (k % 2 ? -1.0f : 1.0f) * float(k + 1) / 16.0f;
    for (size_t i = 0; i < n; i++) {
        float sum = c[16];
#pragma GCC unroll 16
        for (int k = 15; k >= 0; k--) sum = sum * x[i] + c[k];
        y[i] = sum;
    }
}

__attribute__((noinline)) static void wave(const Vec3 *p, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float r = std::sqrt(p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z);
        float a = std::sin(r * 6.0f - 1.5f), b = std::exp(r * -0.75f);
        float c = std::cos(r * 3.0f + 0.25f), d = std::log(r + 1.0f);
        y[i] = a * b + c * d;
    }
}

int main() {
    char name[16];
    size_t n, repeats;
    std::vector<float> out;
    std::vector<Vec3> a, b, c;
    std::vector<float> x;
    std::string loaded;
    while (std::scanf("%15s %zu %zu", name, &n, &repeats) == 3) {
        std::string wanted = std::string(name) + " " + std::to_string(n);
        if (wanted != loaded) {
            loaded = wanted;
            a.clear(), b.clear(), c.clear(), x.clear();
            if (!std::strcmp(name, "heron")) {
                a = points(0, n, 1.0f), b = points(1, n, 1.0f), c = points(2, n, 1.0f);
            } else if (!std::strcmp(name, "horner")) {
                x.resize(n);
                for (size_t i = 0; i < n; i++) x[i] = at(0, uint32_t(i));
            } else {
                a = points(0, n, 4.0f);
            }
            out.assign(n, 0.0f);
        }
        for (size_t repeat = 0; repeat < repeats; repeat++) {
            auto start = std::chrono::steady_clock::now();
            if (!std::strcmp(name, "heron")) {
                heron(a.data(), b.data(), c.data(), out.data(), n);
            } else if (!std::strcmp(name, "horner")) {
                horner(x.data(), out.data(), n);
            } else {
                wave(a.data(), out.data(), n);
            }
            std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
            std::printf("%.9g ", time.count());
        }
        double sum = 0.0;
        for (float value : out) sum += value;
        std::printf("%.9g\n", sum);
        std::fflush(stdout);
    }
}
