import Foundation
import Tombolo

/// A contact book for the terminal, as an example of a client: `contacts --help`.
///
/// It works without a server. With one (`CONTACTS_SERVER_URL`, `CONTACTS_SERVER_TOKEN_FILE`), it syncs while it runs.
@main struct Contacts {
    static func main() async {
        var status: Int32 = 0
        do {
            let command = try Command(Array(CommandLine.arguments.dropFirst()))
            try await withClient("contacts", models: ContactBook.models) { client in
                switch command {
                case .sync(let seconds):
                    let result = await SyncResult.waiting(for: client, atMost: .seconds(seconds))
                    print(result.line)
                    status = result.exitStatus
                case .status: print(client.status)
                default: try await command.run(on: ContactBook(access: client)) { print($0) }
                }
            }
        } catch {
            FileHandle.standardError.write(Data("contacts: \(error)\n".utf8))
            status = 1
        }
        exit(status)
    }
}
