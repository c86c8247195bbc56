// The loops that one would write by hand instead of a repeat, timed on request: see peers/loops.cpp
// for the form of orders and answers, and rounds.rs for the inputs.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

struct Vec2 {
    float x, y;
};

__attribute__((noinline)) static void mandelbrot(const Vec2 *c, int32_t *rounds, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float x = 0.0f, y = 0.0f;
        int32_t k = 0;
        while (k < 100) {
            float next = x * x - y * y + c[i].x;
            y = 2.0f * x * y + c[i].y;
            x = next;
            k++;
            if (!(x * x + y * y < 4.0f)) break;
        }
        rounds[i] = k;
    }
}

__attribute__((noinline)) static void newton(const float *a, float *root, size_t n) {
    for (size_t i = 0; i < n; i++) {
        float x = a[i];
        for (int k = 0; k < 20; k++) x = x - (x * x * x - a[i]) / (3.0f * x * x);
        root[i] = x;
    }
}

static double worked() {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

int main() {
    char name[16];
    size_t n, repeats;
    while (std::scanf("%15s %zu %zu", name, &n, &repeats) == 3) {
        bool is_newton = !std::strcmp(name, "newton");
        std::vector<Vec2> c(n);
        std::vector<float> a(n), roots(n);
        std::vector<int32_t> rounds(n);
        for (size_t i = 0; i < n; i++) {
            c[i] = {float(i % 1000) / 400.0f - 2.0f, float(i / 1000 % 1000) / 400.0f - 1.25f};
            a[i] = 0.5f + float(i % 4096) / 512.0f;
        }
        for (size_t repeat = 0; repeat < repeats; repeat++) {
            double start = worked();
            if (is_newton) {
                newton(a.data(), roots.data(), n);
            } else {
                mandelbrot(c.data(), rounds.data(), n);
            }
            std::printf("%.9g ", worked() - start);
        }
        double sum = 0.0;
        for (size_t i = 0; i < n; i++) sum += is_newton ? double(roots[i]) : double(rounds[i]);
        std::printf("%.9g\n", sum);
        std::fflush(stdout);
    }
}
