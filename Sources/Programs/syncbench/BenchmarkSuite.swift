import Foundation

/// Benchmarks, each with the rows that it measures.
struct BenchmarkSuite {
    private let benchmarks: [Benchmark]

    private struct Benchmark {
        let rows: Set<BenchmarkRow>
        let measure: @Sendable (BenchmarkSettings) async throws -> [Figure]
    }

    /// All rows.
    static let all = BenchmarkSuite(
        benchmarks: [firstSync, write, read, list, delta, importedSync, merge, push, pull, visibility, idle, start])
    /// The rows that are worth measuring with many users.
    static let large = BenchmarkSuite(benchmarks: [firstSync, start])
    /// The rows whose cost could grow with the number of users.
    static let growing = BenchmarkSuite(
        benchmarks: [firstSync, write, read, list, delta, importedSync, merge, push, pull, start])

    private static let firstSync = Benchmark(rows: [.firstSync, .memory]) { try FirstSyncBenchmark($0).figures() }
    private static let write = Benchmark(rows: [.write, .bulkWrite]) { try WriteBenchmark($0).figures() }
    private static let read = Benchmark(rows: [.read]) { try ReadBenchmark($0).figures() }
    private static let list = Benchmark(rows: [.list, .listAll]) { try ListBenchmark($0).figures() }
    private static let delta = Benchmark(rows: [.delta, .size]) { try DeltaBenchmark($0).figures() }
    private static let importedSync = Benchmark(rows: [.importedSync]) { try ImportedSyncBenchmark($0).figures() }
    private static let merge = Benchmark(rows: [.merge]) { try MergeBenchmark($0).figures() }
    private static let push = Benchmark(rows: [.push]) { try LoadBenchmark($0).pushes() }
    private static let pull = Benchmark(rows: [.pull]) { try LoadBenchmark($0).pulls() }
    private static let visibility = Benchmark(rows: [.visibility]) { try await VisibilityBenchmark($0).figures() }
    private static let idle = Benchmark(rows: [.idle]) { try await IdleBenchmark($0).figures() }
    private static let start = Benchmark(rows: [.start]) { try StartBenchmark($0).figures() }

    /// Measures some rows, and prints each figure as soon as it is known. Deletes the databases of each benchmark.
    func figures(of rows: Set<BenchmarkRow>, _ settings: BenchmarkSettings) async throws -> [Figure] {
        var all: [Figure] = []
        for benchmark in benchmarks where !benchmark.rows.isDisjoint(with: rows) {
            try FileManager.default.createDirectory(
                at: settings.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            defer { try? FileManager.default.removeItem(at: settings.folder) }
            let figures = try await benchmark.measure(settings).filter { rows.contains($0.row) }
            for figure in figures { say(figure.line) }
            all += figures
        }
        return all
    }
}
