import Foundation
import TestRings
import Testing

@testable import syncctl

/// Tests the exact text of failures at the start of a server.
@Suite(.ring(.test)) struct ServerFailureTextTests {
    struct Failure: Sendable, CustomTestStringConvertible {
        let name: String
        var arguments: [String] = []
        /// A command that `sh` runs in the server's folder, after a token was created and a server has run once.
        var preparation = ":"
        /// The expected text. `$FOLDER` stands for the server's folder.
        let text: String
        var testDescription: String { name }
    }

    private static let backup =
        "restore the database from a backup, and move its files -wal, -shm, and -journal away first"
    private static let keys = "syncd config show lists the keys"

    static let failures: [Failure] = [
        Failure(
            name: "no token file", preparation: "rm tokens",
            text: """
                syncd: authority.token-file: $FOLDER/tokens does not exist
                  syncd token add NAME makes a token

                """),
        Failure(
            name: "an empty token file", preparation: ": > tokens",
            text: """
                syncd: authority.token-file: $FOLDER/tokens has no token, so nobody could use the server
                  syncd token add NAME makes a token

                """),
        Failure(
            name: "a token file with comments only", preparation: "echo '# none yet' > tokens",
            text: """
                syncd: authority.token-file: $FOLDER/tokens has no token, so nobody could use the server
                  syncd token add NAME makes a token

                """),
        Failure(
            name: "a token file that others may read", preparation: "chmod 644 tokens",
            text: """
                syncd: authority.token-file: $FOLDER/tokens is open to others: expected mode 0600, so run chmod 600 on it

                """),
        Failure(
            name: "a folder that others may write", preparation: "chmod 777 .",
            text: """
                syncd: authority.folder: others may write in $FOLDER (permissions 777); expected 700, so run chmod 700 on it

                """),
        Failure(
            name: "an emptied database",
            preparation: "rm -f authority.sqlite-wal authority.sqlite-shm; : > authority.sqlite",
            text: """
                syncd: authority.folder: $FOLDER/authority.sqlite is empty, but $FOLDER/authority.sqlite-mark beside it shows that a server has used it: its contents are lost
                  \(backup)

                """),
        Failure(
            name: "a deleted database",
            preparation: "rm -f authority.sqlite authority.sqlite-wal authority.sqlite-shm",
            text: """
                syncd: authority.folder: $FOLDER/authority.sqlite is missing, but $FOLDER/authority.sqlite-mark beside it shows that a server has used it: its contents are lost
                  \(backup)

                """),
        Failure(
            name: "a server with PostgreSQL that has lost its setting",
            preparation: "rm -f authority.sqlite*; echo mark > authority.postgres-mark",
            text: """
                syncd: authority.postgres is not set, but $FOLDER/authority.postgres-mark shows that this server keeps its data in PostgreSQL
                  set authority.postgres, or give a new server a folder of its own

                """),
        Failure(
            name: "not a database", preparation: "echo 'something else' > authority.sqlite",
            text: """
                syncd: authority.folder: $FOLDER/authority.sqlite is not an SQLite database: it has 15 bytes, fewer than a header
                  \(backup)

                """),
        Failure(
            name: "a database of a newer build",
            preparation:
                "sqlite3 authority.sqlite \"INSERT INTO sync_migration VALUES (2, 'm0002'); PRAGMA user_version = 2\"",
            text: """
                syncd: authority.folder: $FOLDER/authority.sqlite has schema version 2, and this build knows versions up to 1: use a newer build
                  use the build of syncd that made it, or a newer one

                """),
        Failure(
            name: "a link in the database's place",
            preparation: "mv authority.sqlite other.sqlite; ln -s other.sqlite authority.sqlite",
            text: """
                syncd: authority.folder: $FOLDER/authority.sqlite is not a regular file; links and devices are refused

                """),
        Failure(
            name: "an address of the network without TLS", arguments: ["--host", "10.1.2.3"],
            text: """
                syncd: listen.host: 10.1.2.3 is not a loopback address, and the environment production requires TLS there
                  give listen.certificate-file and listen.key-file, or listen on 127.0.0.1 behind a proxy

                """),
        Failure(
            name: "an unknown key", arguments: ["--set", "nothing=1"],
            text: """
                syncd: there is no key nothing (--set)
                  \(keys)

                """),
        Failure(
            name: "a setting without a value", arguments: ["--set", "nothing"],
            text: """
                syncd: --set nothing: expected KEY=VALUE
                  such as --set log.level=debug

                """),
        Failure(
            name: "a missing configuration file", arguments: ["--config", "/none.json"],
            text: """
                syncd: the configuration file /none.json was not read: there is no such file

                """),
    ]

    @Test(arguments: failures) func `a server that cannot start reports the reason and the remedy`(failure: Failure)
        throws
    {
        let programs = try Programs()
        let folder = programs.folder + "/.local/share/syncd"
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        try stop(try programs.serve().process)
        #expect(try programs.tool("sh", ["-c", "cd '\(folder)' && " + failure.preparation]) == 0)
        let response = try programs.run("syncd", ["--port", "0"] + failure.arguments)
        #expect(response.errors == failure.text.replacing("$FOLDER", with: folder))
        #expect(response.output.isEmpty)
        #expect(response.status == CommandExitStatus.configuration.rawValue)
    }

    @Test func `a port in use and a database that is already served are reported`() throws {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        let (server, url) = try programs.serve()
        let folder = programs.folder + "/.local/share/syncd"
        let second = try programs.run("syncd", ["--port", "0"])
        #expect(
            second.errors
                == "syncd: authority.folder: \(folder)/authority.sqlite is being served by another process: stop that process first\n"
        )
        // Another start may succeed, so the status is not that of an error in the configuration.
        #expect(second.status == 1)
        let port = try #require(url.split(separator: ":").last)
        let other = programs.folder + "/other"
        #expect(try programs.run("syncd", ["token", "add", "ned", "--folder", other]).status == 0)
        let taken = try programs.run("syncd", ["--folder", other, "--port", String(port)])
        #expect(
            taken.errors == """
                syncd: cannot listen on 127.0.0.1, port \(port): Address already in use
                  see the listen keys: syncd config shows their values and sources

                """)
        #expect(taken.status == 1)
        let unknown = try programs.run(
            "syncd", ["--folder", other, "--port", "0", "--set", "listen.host=no host", "--environment", "development"])
        #expect(
            unknown.errors == """
                syncd: cannot listen on no host, port 0: the host does not exist
                  see the listen keys: syncd config shows their values and sources

                """)
        #expect(unknown.status == 1)
        let metrics = try programs.run(
            "syncd", ["--folder", other, "--port", "0", "--set", "metrics.port=\(port)"])
        #expect(
            metrics.errors == """
                syncd: cannot listen on 127.0.0.1, port \(port): Address already in use
                  see the metrics keys: metrics.host, metrics.port

                """)
        #expect(metrics.status == 1)
        try stop(server)
    }

    @Test func `a server tells its service manager when it is ready and when it stops`() throws {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        let manager = """
            import os, socket, subprocess, sys
            channel = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            channel.bind("notify")
            channel.settimeout(300)
            variables = os.environ | {"NOTIFY_SOCKET": os.path.abspath("notify")}
            server = subprocess.Popen(sys.argv[1:], env=variables, stdout=subprocess.DEVNULL)
            try:
                print(channel.recv(99).decode())
                server.terminate()
                print(channel.recv(99).decode(), server.wait(300))
            finally:
                server.kill()
            """
        let answer = try programs.run(
            "syncd", ["--port", "0"], launcher: ["--chdir", programs.folder, "python3", "-c", manager])
        #expect(answer.output == "READY=1\nSTOPPING=1 0\n", "\(answer)")
        #expect(answer.errors.isEmpty)
    }

    @Test func `a server whose service manager cannot be told serves all the same`() throws {
        let programs = try Programs()
        #expect(try programs.run("syncd", ["token", "add", "ned"]).status == 0)
        let (server, output, errors) = try programs.start(
            "syncd", ["--port", "0"], variables: ["NOTIFY_SOCKET": "/none"])
        #expect(try Programs.text(of: output, upTo: "\n").hasPrefix("listening on "))
        #expect(
            try Programs.text(of: errors, upTo: "\n")
                == "syncd: NOTIFY_SOCKET: cannot send READY=1 to /none: No such file or directory\n")
        try stop(server)
    }

    private func stop(_ server: Process) throws {
        kill(server.processIdentifier, SIGTERM)
        server.waitUntilExit()
        #expect(server.terminationStatus == 0)
    }
}
