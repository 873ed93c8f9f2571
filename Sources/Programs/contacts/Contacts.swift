import Foundation
import Tombolo

/// A contact book for the terminal, as an example of a client: `contacts --help`.
///
/// It works without a server. With one (`CONTACTS_SERVER_URL`, `CONTACTS_SERVER_TOKEN_FILE`), it syncs while it runs.
@main struct Contacts {
    static func main() async {
        // A limit on the size of files is an error with a message, and does not end the process.
        signal(SIGXFSZ, SIG_IGN)
        var status: Int32 = 0
        do {
            // The Swift runtime reads the arguments from /proc. Without them, each command would look like `list`.
            guard !CommandLine.arguments.isEmpty else {
                throw BookError("the command line cannot be read: mount /proc")
            }
            let command = try Command(Array(CommandLine.arguments.dropFirst()))
            if command == .help { return try show(Command.usage) }
            try await withClient("contacts", models: ContactBook.models) { client in
                switch command {
                case .sync(let seconds): status = try await sync(client, within: .seconds(seconds))
                case .status:
                    try? await client.synced(within: .seconds(1))
                    try show(client.status.description.printable)
                default: try await command.run(on: ContactBook(access: client)) { try show($0) }
                }
            }
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("contacts: \("\(error)".printable)\n".utf8))
            status = 1
        }
        exit(status)
    }

    /// Syncs, shows the result, and returns the exit status.
    private static func sync(_ client: Client, within limit: Duration) async throws -> Int32 {
        do throws(ModelError) {
            try await client.synced(within: limit)
        } catch {
            try show(error.message.printable)
            return exitStatus(of: error, in: client.status.phase)
        }
        let result = syncedResult(in: client.status)
        try show(result.line.printable)
        return result.exitStatus
    }

    private static func exitStatus(of error: ModelError, in phase: ClientStatus.Phase) -> Int32 {
        switch phase {
        case .needsToken: 5
        case .blocked, .stopped: 9
        default: error.code == .noServer ? 1 : 4
        }
    }

    /// Returns the line to show, and the exit status, when there is nothing left to sync.
    static func syncedResult(in status: ClientStatus) -> (line: String, exitStatus: Int32) {
        let denied = status.spaces.filter { !$0.hasAccess }.map(\.space.rawValue)
        guard denied.isEmpty else {
            return ("the account may not read \(denied.joined(separator: ", ")): its contacts are no longer here", 5)
        }
        guard status.rejected == 0 else {
            return ("in sync; the server has rejected or lost \(status.rejected): see contacts problems", 0)
        }
        return ("in sync", 0)
    }

    private static func show(_ line: String) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            throw BookError("the output cannot be written")
        }
    }
}
