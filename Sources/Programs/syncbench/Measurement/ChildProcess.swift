import BenchmarkUsers
import Foundation

/// Another process of this program, which answers in lines.
final class ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffered = Data()

    init(_ arguments: [String]) throws {
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// Sends one line, and returns the answer.
    func ask(_ line: String) throws -> String {
        input.fileHandleForWriting.write(Data("\(line)\n".utf8))
        return try readLine()
    }

    /// Waits for the next line.
    func readLine() throws -> String {
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffered = Data(buffered[buffered.index(after: end)...]) }
                return String(decoding: buffered[..<end], as: UTF8.self)
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw BenchmarkError("\(process.arguments?.first ?? "a process") ended without an answer")
            }
            buffered += more
        }
    }

    /// Closes the process's input, which ends a server, and waits for the end of the process.
    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
