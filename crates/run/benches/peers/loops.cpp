// The loops that one would write by hand, timed on request: each line of the input is
// "NAME N REPEATS", each line of the output the seconds of every repeat. Inputs are made by the same
// rule as in peers.rs; the sum of the last results goes to the end of the line, for comparison.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
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

// Octaves of gradient noise by the definition of `noise.fbm` with its defaults: seed 0, lacunarity 2,
// roughness 0.5, normalized.
struct Words {
    uint32_t w[4];
};

static Words pcg4d(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    uint32_t v[4] = {a, b, c, d};
    for (auto &w : v) w = w * 1664525u + 1013904223u;
    for (int round = 0; round < 2; round++) {
        v[0] += v[1] * v[3], v[1] += v[2] * v[0], v[2] += v[0] * v[1], v[3] += v[1] * v[2];
        for (auto &w : v) w ^= w >> 16;
    }
    return {{v[0], v[1], v[2], v[3]}};
}

static inline float fade(float t) { return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f); }
static inline float blend(float a, float b, float t) { return a + t * (b - a); }

static inline float slope(uint32_t h, float x, float y, float z) {
    return float(int32_t(h * 0x6a09e667u)) * x + float(int32_t(h * 0xbb67ae85u)) * y +
           float(int32_t(h * 0x510e527fu)) * z;
}

static inline float octave(float x, float y, float z, const Words &words) {
    float fx = std::floor(x), fy = std::floor(y), fz = std::floor(z);
    const uint32_t kx = 0xdb4f0b91u, ky = 0xbbe05633u, kz = 0xa0f2ec75u;
    uint32_t ax = uint32_t(int32_t(fx)) * kx + words.w[0], bx = ax + kx;
    uint32_t ay = uint32_t(int32_t(fy)) * ky + words.w[1], by = ay + ky;
    uint32_t az = uint32_t(int32_t(fz)) * kz + words.w[2], bz = az + kz;
    x -= fx, y -= fy, z -= fz;
    float x1 = x - 1.0f, y1 = y - 1.0f, z1 = z - 1.0f, u = fade(x), v = fade(y), w = fade(z);
    float low = blend(blend(slope(ax ^ ay ^ az, x, y, z), slope(bx ^ ay ^ az, x1, y, z), u),
                      blend(slope(ax ^ by ^ az, x, y1, z), slope(bx ^ by ^ az, x1, y1, z), u), v);
    float high = blend(blend(slope(ax ^ ay ^ bz, x, y, z1), slope(bx ^ ay ^ bz, x1, y, z1), u),
                       blend(slope(ax ^ by ^ bz, x, y1, z1), slope(bx ^ by ^ bz, x1, y1, z1), u), v);
    return blend(low, high, w) * (1.31f / 2147483648.0f);
}

__attribute__((noinline)) static void fbm(const Vec3 *p, float *y, size_t n) {
    Words words[3];
    for (uint32_t k = 0; k < 3; k++) words[k] = pcg4d(0, k, 8, 0);
    for (size_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 3; k++) {
            float scale = float(1 << k);
            float value = octave(p[i].x * scale, p[i].y * scale, p[i].z * scale, words[k]);
            sum += value / (1.75f * scale);
        }
        y[i] = sum;
    }
}

// The same with the slopes and the hash that most programs have: twelve slopes, told apart by
// branches, and the last mixing of Bob Jenkins' lookup3.
static inline uint32_t turned(uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

static inline uint32_t lookup3(uint32_t x, uint32_t y, uint32_t z) {
    uint32_t a = 0xdeadbeefu + 25 + x, b = 0xdeadbeefu + 25 + y, c = 0xdeadbeefu + 25 + z;
    c ^= b, c -= turned(b, 14), a ^= c, a -= turned(c, 11), b ^= a, b -= turned(a, 25);
    c ^= b, c -= turned(b, 16), a ^= c, a -= turned(c, 4), b ^= a, b -= turned(a, 14);
    return (c ^ b) - turned(b, 24);
}

static inline float one_of_twelve(uint32_t h, float x, float y, float z) {
    h &= 15u;
    float u = h < 8u ? x : y, v = h < 4u ? y : (h == 12u || h == 14u) ? x : z;
    return ((h & 1u) ? -u : u) + ((h & 2u) ? -v : v);
}

static inline float classic_octave(float x, float y, float z) {
    float fx = std::floor(x), fy = std::floor(y), fz = std::floor(z);
    uint32_t i = uint32_t(int(fx)), j = uint32_t(int(fy)), k = uint32_t(int(fz));
    x -= fx, y -= fy, z -= fz;
    float u = fade(x), v = fade(y), w = fade(z);
    auto at = [&](uint32_t a, uint32_t b, uint32_t c) {
        return one_of_twelve(lookup3(i + a, j + b, k + c), x - float(a), y - float(b), z - float(c));
    };
    float low = blend(blend(at(0, 0, 0), at(1, 0, 0), u), blend(at(0, 1, 0), at(1, 1, 0), u), v);
    float high = blend(blend(at(0, 0, 1), at(1, 0, 1), u), blend(at(0, 1, 1), at(1, 1, 1), u), v);
    return blend(low, high, w) * 0.982f;
}

__attribute__((noinline)) static void classic(const Vec3 *p, float *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int k = 0; k < 3; k++) {
            float scale = float(1 << k);
            sum += classic_octave(p[i].x * scale, p[i].y * scale, p[i].z * scale) / (1.75f * scale);
        }
        y[i] = sum;
    }
}

// Seconds that the processor has worked for this thread.
static double worked() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
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
            double start = worked();
            if (!std::strcmp(name, "heron")) {
                heron(a.data(), b.data(), c.data(), out.data(), n);
            } else if (!std::strcmp(name, "horner")) {
                horner(x.data(), out.data(), n);
            } else if (!std::strcmp(name, "fbm")) {
                fbm(a.data(), out.data(), n);
            } else if (!std::strcmp(name, "classic")) {
                classic(a.data(), out.data(), n);
            } else {
                wave(a.data(), out.data(), n);
            }
            std::printf("%.9g ", worked() - start);
        }
        double sum = 0.0;
        for (float value : out) sum += value;
        std::printf("%.9g\n", sum);
        std::fflush(stdout);
    }
}
