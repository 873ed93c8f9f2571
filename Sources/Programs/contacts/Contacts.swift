import Foundation
import Tombolo

/// A contact book for the terminal, as an example of a client: `contacts --help`.
///
/// It works without a server. With one (`CONTACTS_SERVER_URL`, `CONTACTS_SERVER_TOKEN_FILE`), it syncs while it runs.
@main struct Contacts {
    static func main() async {
        do {
            let command = try Command(Array(CommandLine.arguments.dropFirst()))
            try await withClient("contacts", models: ContactBook.models) { client in
                switch command {
                case .sync: print(await synced(client))
                case .status: print(client.status)
                default: try await command.run(on: ContactBook(access: client)) { print($0) }
                }
            }
        } catch {
            FileHandle.standardError.write(Data("contacts: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Waits until everything is in sync, or until something stands in the way, and returns the status.
    private static func synced(_ client: Client) async -> ClientStatus {
        client.syncNow()
        for await status in client.statusUpdates where status.isInSync || ![.connecting, .live].contains(status.phase) {
            return status
        }
        return client.status
    }
}
