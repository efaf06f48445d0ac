// Pillar voxelisation as second.pytorch and mmdetection3d do it on a CPU (hard_voxelize), for comparison:
// dense buffers of max_voxels x max_points, cleared for each sweep, as their callers do.
// Compiled by scripts/bench_peer_lidar.py; never part of the build.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {
const float kMin[3] = {0.f, -39.68f, -3.f};
const float kSize[3] = {0.16f, 0.16f, 4.f};
const int kGrid[3] = {432, 496, 1};
const int kMaxPoints = 32, kMaxVoxels = 12000, kFeatures = 9;

struct Buffers {
    std::vector<float> voxels = std::vector<float>(size_t(kMaxVoxels) * kMaxPoints * 4);
    std::vector<int> coors = std::vector<int>(size_t(kMaxVoxels) * 3);
    std::vector<int> counts = std::vector<int>(kMaxVoxels);
    std::vector<int> lookup = std::vector<int>(size_t(432) * 496);
};

int voxelize(const std::vector<float>& points, Buffers& b) {
    std::fill(b.voxels.begin(), b.voxels.end(), 0.f);
    std::fill(b.counts.begin(), b.counts.end(), 0);
    std::fill(b.lookup.begin(), b.lookup.end(), -1);
    int voxel_num = 0;
    const size_t n = points.size() / 4;
    for (size_t i = 0; i < n; ++i) {
        int coor[3];
        bool failed = false;
        for (int j = 0; j < 3; ++j) {
            int c = int(std::floor((points[i * 4 + j] - kMin[j]) / kSize[j]));
            if (c < 0 || c >= kGrid[j]) { failed = true; break; }
            coor[2 - j] = c;
        }
        if (failed) continue;
        int& id = b.lookup[(size_t(coor[0]) * kGrid[1] + coor[1]) * kGrid[0] + coor[2]];
        if (id == -1) {
            if (voxel_num >= kMaxVoxels) break;
            id = voxel_num++;
            for (int k = 0; k < 3; ++k) b.coors[size_t(id) * 3 + k] = coor[k];
        }
        const int num = b.counts[id];
        if (num < kMaxPoints) {
            for (int k = 0; k < 4; ++k) b.voxels[(size_t(id) * kMaxPoints + num) * 4 + k] = points[i * 4 + k];
            b.counts[id] = num + 1;
        }
    }
    return voxel_num;
}

// Mean and centre offsets, padding zero: [P, N, 9].
void decorate(const Buffers& b, int pillars, std::vector<float>& out) {
    for (int p = 0; p < pillars; ++p) {
        const float* in = &b.voxels[size_t(p) * kMaxPoints * 4];
        float* to = &out[size_t(p) * kMaxPoints * kFeatures];
        const int count = b.counts[p];
        float mean[3] = {0.f, 0.f, 0.f};
        for (int n = 0; n < count; ++n) for (int k = 0; k < 3; ++k) mean[k] += in[n * 4 + k];
        for (float& m : mean) m /= float(count);
        const float cx = b.coors[size_t(p) * 3 + 2] * kSize[0] + (kMin[0] + kSize[0] / 2);
        const float cy = b.coors[size_t(p) * 3 + 1] * kSize[1] + (kMin[1] + kSize[1] / 2);
        for (int n = 0; n < count; ++n) {
            const float* a = in + n * 4;
            const float row[kFeatures] = {a[0], a[1], a[2], a[3], a[0] - mean[0], a[1] - mean[1],
                                          a[2] - mean[2], a[0] - cx, a[1] - cy};
            std::copy(row, row + kFeatures, to + n * kFeatures);
        }
        std::fill(to + count * kFeatures, to + kMaxPoints * kFeatures, 0.f);
    }
}
}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    std::FILE* file = std::fopen(argv[1], "rb");
    if (!file) return 1;
    std::fseek(file, 0, SEEK_END);
    std::vector<float> points(size_t(std::ftell(file)) / 4);
    std::rewind(file);
    if (std::fread(points.data(), 4, points.size(), file) != points.size()) return 1;
    std::fclose(file);
    Buffers buffers;
    std::vector<float> out(size_t(kMaxVoxels) * kMaxPoints * kFeatures);
    std::vector<double> voxel_ms, both_ms;
    int pillars = 0;
    for (int run = 0; run < std::atoi(argv[2]); ++run) {
        using Clock = std::chrono::steady_clock;
        const auto start = Clock::now();
        pillars = voxelize(points, buffers);
        const auto middle = Clock::now();
        decorate(buffers, pillars, out);
        const auto end = Clock::now();
        voxel_ms.push_back(std::chrono::duration<double, std::milli>(middle - start).count());
        both_ms.push_back(std::chrono::duration<double, std::milli>(end - start).count());
    }
    std::sort(voxel_ms.begin(), voxel_ms.end());
    std::sort(both_ms.begin(), both_ms.end());
    std::printf("%d %.4f %.4f\n", pillars, voxel_ms[voxel_ms.size() / 2], both_ms[both_ms.size() / 2]);
    return 0;
}
