import BenchmarkUsers
import CRawSQLite
import Foundation

/// The CPU time and wall-clock time of one run.
struct Cost {
    var cpuSeconds: Double
    var wallSeconds: Double

    /// Returns the cost of `body`, measured with the process's clocks.
    static func of(_ body: () throws -> Void) rethrows -> Cost {
        let cpu = raw_cpu_nanoseconds()
        let wall = try ContinuousClock().measure(body)
        return Cost(cpuSeconds: Double(raw_cpu_nanoseconds() - cpu) / 1e9, wallSeconds: wall / .seconds(1))
    }
}

/// The resources that a process has used so far, or between two readings.
struct ProcessUse {
    var cpuSeconds: Double
    /// How often a thread has waited, and was woken up.
    var wakeUps: Double
    /// Bytes that the process has sent to disks, without those that it deleted before they were written.
    var writtenBytes: Double

    /// The resources that this process has used so far.
    static var now: ProcessUse {
        let text = (try? String(contentsOfFile: "/proc/self/io", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("write_bytes: ") }
        return ProcessUse(
            cpuSeconds: Double(raw_cpu_nanoseconds()) / 1e9, wakeUps: Double(raw_voluntary_switches()),
            writtenBytes: line.flatMap { Double($0.dropFirst(13)) } ?? .nan)
    }

    static func - (left: ProcessUse, right: ProcessUse) -> ProcessUse {
        ProcessUse(
            cpuSeconds: left.cpuSeconds - right.cpuSeconds, wakeUps: left.wakeUps - right.wakeUps,
            writtenBytes: left.writtenBytes - right.writtenBytes)
    }

    /// The three numbers on one line, for another process.
    var line: String { "\(cpuSeconds) \(wakeUps) \(writtenBytes)" }

    init(cpuSeconds: Double, wakeUps: Double, writtenBytes: Double) {
        self.cpuSeconds = cpuSeconds
        self.wakeUps = wakeUps
        self.writtenBytes = writtenBytes
    }

    /// Reads the three numbers of `line`; nil if there are others.
    init?(line: some StringProtocol) {
        let numbers = line.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 3 else { return nil }
        self.init(cpuSeconds: numbers[0], wakeUps: numbers[1], writtenBytes: numbers[2])
    }
}

/// Throws unless a C function has succeeded.
func check(_ status: Int32) throws {
    guard status == 0 else { throw BenchmarkError("the raw SQLite program failed") }
}

extension [Double] {
    /// The value in the middle, or the mean of the two; not a number if there are no values.
    var median: Double { quantile(0.5) }

    /// Returns the value below which this part of the values lies. Interpolates between two values.
    func quantile(_ part: Double) -> Double {
        let sorted = sorted()
        guard let last = sorted.last else { return .nan }
        let position = part * Double(sorted.count - 1)
        let index = Int(position)
        guard index + 1 < sorted.count else { return last }
        return sorted[index] + (sorted[index + 1] - sorted[index]) * (position - Double(index))
    }
}
