import Foundation
import Glibc
import Logging
import SyncAuthority
import SyncConcurrency
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct TokenFileTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "tombolo-tokens-\(UUID().uuidString)")
        .path(percentEncoded: false)

    private func write(_ text: String, mode: Int = 0o600) throws {
        try? FileManager.default.removeItem(atPath: path)
        guard
            FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        else { throw CocoaError(.fileWriteUnknown) }
    }

    private func open() throws(TokenFileError) -> TokenFile {
        try TokenFile(path: path, logger: TestServer.quiet)
    }

    @Test func `a token belongs to the principal on its line`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(
            "# people\n\n" + TokenFile.line(principal: "ann", token: "secret-1") + "\n"
                + TokenFile.line(principal: "bo", token: "secret-2").uppercased().replacing("BO", with: "bo") + "\n"
                + TokenFile.line(principal: "ann", token: "secret-3"))
        let file = try open()
        #expect(file.principal(bearing: "secret-1") == Principal(name: "ann"))
        #expect(file.principal(bearing: "secret-2") == Principal(name: "bo"))
        #expect(file.principal(bearing: "secret-3") == Principal(name: "ann"))
        for token in ["", "secret", "secret-11", "SECRET-1", "ann", String(repeating: "x", count: 100_000)] {
            #expect(file.principal(bearing: token) == nil)
        }
        let hash = TokenFile.line(principal: "ann", token: "secret-1").dropFirst(4)
        #expect(file.principal(bearing: String(hash)) == nil, "the hash is not a token")
    }

    @Test func `lines may end in CR LF`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(
            "# people\r\n" + TokenFile.line(principal: "ann", token: "secret-1") + "\r\n"
                + TokenFile.line(principal: "bo", token: "secret-2") + "\r\n")
        let file = try open()
        #expect(file.principal(bearing: "secret-1") == Principal(name: "ann"))
        #expect(file.principal(bearing: "secret-2") == Principal(name: "bo"))
    }

    @Test func `a file is read again after its permissions are corrected`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(TokenFile.line(principal: "ann", token: "first"))
        let file = try open()
        try write(TokenFile.line(principal: "ann", token: "second"), mode: 0o644)
        #expect(file.principal(bearing: "second") == nil)
        #expect(chmod(path, 0o600) == 0)
        #expect(file.principal(bearing: "second") == Principal(name: "ann"))
    }

    @Test(arguments: [0o640, 0o604, 0o660, 0o644])
    func `a file that others can read is refused`(mode: Int) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(TokenFile.line(principal: "ann", token: "secret"), mode: mode)
        let error = #expect(throws: TokenFileError.self) { try open() }
        #expect(error?.description.contains("0600") == true)
    }

    @Test(arguments: [
        "ann secret-in-the-clear", "ann", "ann " + String(repeating: "0", count: 63),
        "ann " + String(repeating: "g", count: 64), "ann x " + String(repeating: "0", count: 64),
    ])
    func `an invalid line is reported by its number without its text`(line: String) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write("# first\n" + line)
        let error = #expect(throws: TokenFileError.self) { try open() }
        #expect(error?.description.contains("line 2") == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret-in-the-clear") == false)
    }

    @Test func `a file that is too long is refused with the limit`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let line = TokenFile.line(principal: "ann", token: "secret") + "\n"
        try write(line + "#" + String(repeating: "x", count: SyncServerLimits.tokenFileBytes))
        let error = #expect(throws: TokenFileError.self) { try open() }
        #expect(error?.description.contains("is longer than 4194304 bytes; expected a shorter file") == true)
    }

    @Test func `one token for two principals is refused`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(
            TokenFile.line(principal: "ann", token: "secret") + "\n" + TokenFile.line(principal: "bo", token: "secret"))
        let error = #expect(throws: TokenFileError.self) { try open() }
        #expect(error?.description.contains("line 2: this token occurs twice") == true)
    }

    @Test(arguments: 0..<24 as Range<UInt64>)
    func `a token file with changed bytes is either read or refused with a line number`(seed: UInt64) throws {
        let whole = Array(
            "# people\r\n\(TokenFile.line(principal: "ann", token: "1"))\n\(TokenFile.line(principal: "bo", token: "2"))\n"
                .utf8)
        let random = TestServer.random(seed: seed)
        for _ in 0..<100 {
            let bytes = TestServer.changed(whole, random)
            do throws(TokenFileError) {
                let principals = try TokenFile.parse(String(decoding: bytes, as: UTF8.self), "tokens")
                #expect(principals.count <= 3 && principals.keys.allSatisfy { $0.count == 32 })
            } catch {
                #expect(error.description.hasPrefix("tokens, line "), "\(error)")
            }
        }
    }

    @Test func `a missing file, a folder, and a symbolic link are refused`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: TokenFileError.self) { try open() }
        #expect(throws: TokenFileError.self) { try TokenFile(path: "/tmp", logger: TestServer.quiet) }
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/etc/hostname")
        #expect(throws: TokenFileError.self) { try open() }
    }

    @Test func `a changed file is reloaded, an invalid one keeps the old tokens, and a missing one revokes all tokens`()
        throws
    {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(TokenFile.line(principal: "ann", token: "secret-1"))
        let file = try open()
        #expect(file.principal(bearing: "secret-1") != nil)
        try write(TokenFile.line(principal: "bo", token: "secret-2") + "\n")
        #expect(file.principal(bearing: "secret-1") == nil, "a token that was taken out is not good any more")
        #expect(file.principal(bearing: "secret-2") == Principal(name: "bo"))
        try write("half a li")
        #expect(file.principal(bearing: "secret-2") == Principal(name: "bo"))
        try FileManager.default.removeItem(atPath: path)
        #expect(file.principal(bearing: "secret-2") == nil)
        try write(TokenFile.line(principal: "bo", token: "secret-2"))
        #expect(file.principal(bearing: "secret-2") == Principal(name: "bo"))
    }

    /// When opening the changed file fails, the server already knows the file's new stamp. It must try again although
    /// the stamp no longer changes.
    @Test func `a token is revoked even if the system could not open the changed file at first`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lines = Guarded<[String]>([])
        let logger = Logger(label: "tokens") { _ in RecordingLogHandler { line in lines.withLock { $0.append(line) } } }
        let isOutOfFiles = Guarded(false)
        try write(TokenFile.line(principal: "ann", token: "secret"))
        let file = try TokenFile(path: path, logger: logger) { path in
            guard isOutOfFiles.withLock({ $0 }) else { return Glibc.open(path, O_RDONLY | O_CLOEXEC) }
            errno = EMFILE
            return -1
        }
        try write(TokenFile.line(principal: "bo", token: "other"))
        isOutOfFiles.withLock { $0 = true }
        for _ in 0..<50 { #expect(file.principal(bearing: "secret") == Principal(name: "ann")) }
        #expect(lines.withLock { $0.count } == 1)
        isOutOfFiles.withLock { $0 = false }
        #expect(file.principal(bearing: "secret") == nil)
        #expect(file.principal(bearing: "other") == Principal(name: "bo"))
    }

    @Test func `a missing or invalid token file is logged only once`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lines = Guarded<[String]>([])
        var logger = Logger(label: "tokens") { _ in RecordingLogHandler { line in lines.withLock { $0.append(line) } } }
        logger.logLevel = .trace
        try write(TokenFile.line(principal: "ann", token: "secret"))
        let file = try TokenFile(path: path, logger: logger)
        func ask() { for _ in 0..<50 { _ = file.principal(bearing: "a stranger's") } }
        ask()
        #expect(lines.withLock { $0.count } == 0)
        try FileManager.default.removeItem(atPath: path)
        ask()
        #expect(lines.withLock { $0.count } == 1)
        try write("half a li")
        ask()
        #expect(lines.withLock { $0.count } == 2)
        try write(TokenFile.line(principal: "ann", token: "secret") + "\n")
        ask()
        #expect(lines.withLock { $0.count } == 3)
        #expect(file.principal(bearing: "secret") == Principal(name: "ann"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func `a file that belongs to another user is refused`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try write(TokenFile.line(principal: "ann", token: "secret"))
        #expect(chown(path, 12_345, 12_345) == 0)
        let error = #expect(throws: TokenFileError.self) { try open() }
        #expect(error?.description.contains("12345") == true)
    }

    @Test func `S43: a token that is nearly correct is rejected like any other`() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let token = String(repeating: "0123456789abcdef", count: 4)
        try write(TokenFile.line(principal: "ann", token: token))
        let file = try open()
        for index in token.indices {
            var other = token
            other.replaceSubrange(index...index, with: "x")
            #expect(file.principal(bearing: other) == nil)
            #expect(file.principal(bearing: String(token[..<index])) == nil)
        }
        for other in [token + " ", " " + token, token + "\0", token.uppercased(), token + token] {
            #expect(file.principal(bearing: other) == nil)
        }
        // The stored hash is not a valid token either.
        let hash = TokenFile.line(principal: "ann", token: token).split(separator: " ")[1]
        #expect(file.principal(bearing: String(hash)) == nil)
        #expect(file.principal(bearing: token) != nil)
    }
}
