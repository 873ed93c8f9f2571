import Foundation
import TestRings
import Testing

@testable import syncctl

/// Tests the exact text of common failures: what happened, to which thing, and what to do.
@Suite(.ring(.test)) struct FailureTextTests {
    struct Failure: Sendable, CustomTestStringConvertible {
        let name: String
        let arguments: [String]
        /// The state of the device's folder before the command.
        var preparation: Preparation = .database
        let status: CommandExitStatus
        /// The expected text. `$HOME` stands for the folder of the test, and `$URL` for the URL of the server.
        let text: String
        var testDescription: String { name }
    }

    enum Preparation: Sendable {
        case nothing, database, emptyDatabase, otherFile, openFolder
        case openToken
        case server(String)
    }

    private static let safe = "your changes are safe in the outbox"
    private static let page =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>Sign in</html>"
    private static let token401 = ScriptedServer.json(
        "401 Unauthorized", #"{"error":{"code":"unauthorized","message":"the token is unknown","request":"REQUEST"}}"#)
    private static let failed503 = ScriptedServer.json(
        "503 Service Unavailable",
        #"{"error":{"code":"unavailable","message":"the server is stopping","request":"REQUEST"}}"#)

    static let failures: [Failure] = [
        Failure(
            name: "no database", arguments: ["status"], preparation: .nothing, status: .noStore,
            text: """
                syncctl: there is no database at $HOME/.local/share/syncctl/tombolo.sqlite
                  create it with syncctl init, or give its folder with --store

                """),
        Failure(
            name: "an empty database file", arguments: ["status"], preparation: .emptyDatabase, status: .noStore,
            text: """
                syncctl: $HOME/.local/share/syncctl/tombolo.sqlite is empty: it was never initialized, or its contents are lost
                  syncctl doctor --fix keeps the damaged file, and creates a new database from its readable part

                """),
        Failure(
            name: "not a database", arguments: ["status"], preparation: .otherFile, status: .noStore,
            text: """
                syncctl: $HOME/.local/share/syncctl/tombolo.sqlite is not an SQLite database: it has 5 bytes, fewer than a header
                  syncctl doctor --fix keeps the damaged file, and creates a new database from its readable part

                """),
        Failure(
            name: "a folder that others may write", arguments: ["status"], preparation: .openFolder, status: .noStore,
            text: """
                syncctl: others may write in $HOME/.local/share/syncctl (permissions 777); expected 700, so run chmod 700 on it
                  use your own folder with permissions 700 that contains a plain file without links

                """),
        Failure(
            name: "no server configured", arguments: ["sync"], status: .configuration,
            text: """
                syncctl: no server is configured: server.url is not set
                  set SYNCCTL_SERVER_URL, or server.url in the configuration file

                """),
        Failure(
            name: "plain text over a network", arguments: ["sync", "--server", "http://sync.example.org"],
            status: .configuration,
            text: """
                syncctl: server.url: http://sync.example.org is not encrypted, and the environment production sends nothing over a network in plain text
                  use https, or the environment development

                """),
        Failure(
            name: "a refused connection", arguments: ["sync", "--server", "http://127.0.0.1:9"], status: .notSynced,
            text: """
                syncctl: cannot connect to http://127.0.0.1:9: connection refused
                  check server.url (syncctl config show), and that the server is running; \(safe)

                """),
        Failure(
            name: "a name that does not resolve",
            arguments: ["digest", "--remote", "--server", "https://no-such-host.invalid"], status: .notSynced,
            text: """
                syncctl: cannot connect to https://no-such-host.invalid: the name no-such-host.invalid cannot be resolved
                  check server.url (syncctl config show), and that the server is running; \(safe)

                """),
        Failure(
            name: "a server without TLS", arguments: ["sync", "--server", "$TLS"], preparation: .server(page),
            status: .notSynced,
            text: """
                syncctl: cannot establish an encrypted connection to $TLS: the server does not speak TLS on this port
                  check server.url (syncctl config show), and that the server is running; \(safe)

                """),
        Failure(
            name: "a sign-in page", arguments: ["sync", "--server", "$URL"], preparation: .server(page),
            status: .notSynced,
            text: """
                syncctl: hello: the response is not JSON: perhaps the network requires a sign-in
                  check that server.url is that of a sync server with these models, and that the network does not require a sign-in; \(safe)

                """),
        Failure(
            name: "a server of another kind", arguments: ["sync", "--server", "$URL"],
            preparation: .server(ScriptedServer.json("200 OK", "{}")), status: .notSynced,
            text: """
                syncctl: hello: the response is not from a sync server, or a proxy removed its header Tombolo-Request
                  check that server.url is that of a sync server with these models, and that the network does not require a sign-in; \(safe)

                """),
        Failure(
            name: "a server that says nothing", arguments: ["sync", "--server", "$URL", "--wait", "1s"],
            preparation: .server(""), status: .notSynced,
            text: """
                syncctl: the server has not responded for 1s
                  run syncctl sync again later; \(safe)

                """),
        Failure(
            name: "an unknown token", arguments: ["sync", "--server", "$URL"], preparation: .server(token401),
            status: .refused,
            text: """
                syncctl: hello: the token is unknown
                  check server.token-file (syncctl config show)

                """),
        Failure(
            name: "a server that is stopping", arguments: ["sync", "--server", "$URL"],
            preparation: .server(failed503), status: .notSynced,
            text: """
                syncctl: hello: the server is stopping
                  run syncctl sync again later; \(safe)

                """),
        Failure(
            name: "a missing token file",
            arguments: ["sync", "--server", "http://127.0.0.1:9", "--token-file", "$HOME/none"], status: .configuration,
            text: """
                syncctl: server.token-file: $HOME/none does not exist
                  on the server, its command token add NAME makes a token

                """),
        Failure(
            name: "a token that others may read",
            arguments: ["sync", "--server", "http://127.0.0.1:9", "--token-file", "$HOME/open.token"],
            preparation: .openToken, status: .configuration,
            text: """
                syncctl: server.token-file: others may read $HOME/open.token (permissions 644); expected 600
                  chmod 600 $HOME/open.token

                """),
        Failure(
            name: "an unknown record", arguments: ["user", "show", "Ned"], status: .failed,
            text: """
                syncctl: there is no record of user whose username is 'Ned' on this device
                  syncctl record list user lists the records

                """),
        Failure(
            name: "an unknown journal entry", arguments: ["journal", "show", "7"], status: .failed,
            text: """
                syncctl: there is no entry 7 in the journal
                  syncctl journal list --all shows all

                """),
        Failure(
            name: "an unknown outbox entry", arguments: ["outbox", "cancel", "7"], status: .failed,
            text: """
                syncctl: there is no transaction 7 in the outbox
                  syncctl outbox list and syncctl journal list --all show all entries

                """),
        Failure(
            name: "an invisible name", arguments: ["user", "create", "username=Ned\u{200B}"], status: .failed,
            text: """
                syncctl: user.username contains U+200B, which is an invisible or control character: remove it

                """),
        Failure(
            name: "a picture that is a program", arguments: ["avatar", "create", "image_url=javascript:alert(1)"],
            status: .failed,
            text: """
                syncctl: avatar.image_url is not a URL of an allowed kind: it must begin with https://, http:// or file://

                """),
        Failure(
            name: "a missing import", arguments: ["import", "--csv", "$HOME/none.csv"], status: .noInput,
            text: """
                syncctl: $HOME/none.csv does not exist

                """),
    ]

    @Test(arguments: failures) func `a failure is reported with the exact text and exit status`(failure: Failure) throws
    {
        let programs = try Programs()
        let folder = programs.folder + "/.local/share/syncctl"
        var server: ScriptedServer?
        if case .nothing = failure.preparation {} else { #expect(try programs.syncctl("init").status == 0) }
        let database = folder + "/tombolo.sqlite"
        switch failure.preparation {
        case .nothing, .database: break
        case .emptyDatabase:
            for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
            #expect(truncate(database, 0) == 0)
        case .otherFile:
            for suffix in ["-wal", "-shm"] { unlink(database + suffix) }
            try Data("hello".utf8).write(to: URL(filePath: database))
        case .openFolder: #expect(chmod(folder, 0o777) == 0)
        case .openToken:
            try Data("token\n".utf8).write(to: URL(filePath: programs.folder + "/open.token"))
            #expect(chmod(programs.folder + "/open.token", 0o644) == 0)
        case .server(let response): server = try ScriptedServer(response)
        }
        let (plain, encrypted) = (server?.url ?? "", "https://127.0.0.1:\(server?.port ?? 0)")
        let fill = { (text: String) in
            text.replacing("$HOME", with: programs.folder).replacing("$URL", with: plain)
                .replacing("$TLS", with: encrypted)
        }
        let response = try programs.run("syncctl", failure.arguments.map(fill))
        #expect(response.errors == fill(failure.text))
        #expect(response.status == failure.status.rawValue)
        withExtendedLifetime(server) {}
    }
}
