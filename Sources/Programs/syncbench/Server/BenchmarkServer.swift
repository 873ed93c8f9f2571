import BenchmarkUsers
import Foundation
import SyncModel

/// The benchmark's server process.
final class BenchmarkServer {
    private let process: ChildProcess
    let port: Int

    init(folder: URL, rows: Int64, durability: Durability = .normal) throws {
        process = try ChildProcess([
            "server", "--folder", folder.path, "--rows", "\(rows)", "--durability", durability.rawValue,
        ])
        let line = try process.readLine()
        guard line.hasPrefix("port "), let port = Int(line.dropFirst(5)) else {
            throw BenchmarkError("the server said: \(line)")
        }
        self.port = port
    }

    /// Returns what the process has used so far.
    func use() throws -> ProcessUse {
        let answer = try process.ask("use")
        guard let use = ProcessUse(line: answer) else { throw BenchmarkError("the server said: \(answer)") }
        return use
    }

    /// Returns the newest version of the space.
    func head() throws -> Int64 {
        let answer = try process.ask("head")
        guard let head = Int64(answer) else { throw BenchmarkError("the server said: \(answer)") }
        return head
    }

    /// Returns the cursors with which the first pages of a snapshot are requested, at most `count`. The first is nil,
    /// because the first page needs no cursor.
    func cursors(of count: Int, pagesOf rows: Int) throws -> [Cursor?] {
        let words = try process.ask("cursors \(count) \(rows)").split(separator: " ")
        guard words.first == "cursors" else { throw BenchmarkError("the server said: \(words)") }
        return [nil] + words.dropFirst().map { Cursor(rawValue: String($0)) }
    }

    func stop() {
        process.stop()
    }
}
