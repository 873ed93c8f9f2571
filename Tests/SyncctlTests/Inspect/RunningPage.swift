import Foundation
import Glibc
import PageChecks
import SyncJSON
import Testing

/// A running `inspect` of a program, with the port and the secret that it has printed.
struct RunningPage {
    let process: Process
    let port: Int
    let secret: String

    init(process: Process, port: Int, secret: String) {
        self.process = process
        self.port = port
        self.secret = secret
    }

    /// Starts `inspect` of a program, and waits for its address.
    init(_ program: String, _ arguments: [String], _ programs: Programs) throws {
        let (process, output, _) = try programs.start(program, ["inspect"] + arguments)
        let line = try Programs.text(of: output, upTo: "\n")
        let address = try #require(
            line.wholeMatch(of: #/http://127\.0\.0\.1:([0-9]+)/\#key=([0-9a-f]{64})\n/#), "\(line)")
        self.init(process: process, port: try #require(Int(address.1)), secret: String(address.2))
    }

    func call(_ name: String, _ body: String = "{}") async throws -> JSONValue {
        let response = await RawExchange.send(RawExchange.call(name, body, to: port, secret: secret), to: port)
        return try #require(RawExchange.body(of: response), "\(response)")
    }

    /// Asks the program to end, and returns its exit status.
    func end(_ signal: Int32) -> Int32 {
        Glibc.kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// Kills the program if it still runs.
    func kill() {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    }
}
