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
                case .sync(let seconds):
                    let result = await SyncResult.waiting(for: client, atMost: .seconds(seconds))
                    try show(result.line)
                    status = result.exitStatus
                case .status: try show(await client.settledStatus(within: .seconds(3)).description.printable)
                default: try await command.run(on: ContactBook(access: client)) { try show($0) }
                }
            }
        } catch {
            try? FileHandle.standardError.write(contentsOf: Data("contacts: \(error)\n".utf8))
            status = 1
        }
        exit(status)
    }

    private static func show(_ line: String) throws {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
        } catch {
            throw BookError("the output cannot be written")
        }
    }
}
