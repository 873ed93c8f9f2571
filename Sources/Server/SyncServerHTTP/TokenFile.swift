import Crypto
public import Logging
public import SyncAuthority
import SyncModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// An authenticator that reads bearer tokens from a file.
///
/// Each line contains a principal, white space, and the SHA-256 hash of its token in hexadecimal. Empty lines and lines
/// that begin with `#` are ignored. The file contains only hashes, so that a copy of it grants no access. Only its
/// owner may have access to it (0600), and the owner must be the server's user or root.
///
/// A changed file is read again at the next request. If it is then invalid, the earlier tokens remain valid; if it is
/// missing, no token is valid. If the system cannot read it, the earlier tokens remain valid, and each request tries
/// again. Each event is logged once, however many requests arrive.
public final class TokenFile: Authenticator {
    private let tokens: WatchedFile<FileStamp, [[UInt8]: Principal]>

    /// Reads the file.
    ///
    /// - Parameter mayHaveNoToken: whether to accept a missing file, and one without tokens, because other tokens are
    ///   accepted as well.
    /// - Throws: `TokenFileError` when the file is invalid or has no token.
    public convenience init(
        path: String, mayHaveNoToken: Bool = false, logger: Logger
    ) throws(TokenFileError) {
        try self.init(
            path: path, mayHaveNoToken: mayHaveNoToken, logger: logger, openFile: TrustedFile.openFile)
    }

    /// - Parameter openFile: opens the file for reading, like the system's function.
    init(
        path: String, mayHaveNoToken: Bool = false, logger: Logger,
        openFile: @escaping @Sendable (_ path: String) -> Int32
    ) throws(TokenFileError) {
        var stamp: FileStamp?
        var principals: [[UInt8]: Principal] = [:]
        do throws(TrustedFileError) {
            (stamp, principals) = try Self.read(path, openFile)
        } catch {
            guard error.isMissing, mayHaveNoToken else { throw TokenFileError(error) }
        }
        guard mayHaveNoToken || !principals.isEmpty else {
            throw TokenFileError("\(path) has no token, so nobody could use the server", hasNoToken: true)
        }
        tokens = WatchedFile(
            principals, stamp: stamp, empty: [:], currentStamp: { FileStamp(path: path) },
            read: { () throws(TrustedFileError) in try Self.read(path, openFile) },
            report: { event in
                switch event {
                case .missing:
                    logger.error(
                        "the token file is missing: no token is accepted until it exists again",
                        metadata: ["path": "\(path)"])
                case .readAgain(let principals):
                    logger.notice("the token file was read again", metadata: ["tokens": "\(principals.count)"])
                case .kept(let principals, let error):
                    logger.error(
                        "the token file cannot be used: the earlier tokens stay accepted",
                        metadata: ["error": "\(error)", "tokens": "\(principals.count)"])
                }
            })
    }

    public func principal(bearing token: String) -> Principal? {
        guard token.utf8.count <= SyncServerLimits.tokenBytes else { return nil }
        // Look up the hash, so that the time it takes reveals nothing about the tokens.
        return tokens.current().value[Self.hash(of: token)]
    }

    /// Returns the line of the file for a token.
    public static func line(principal: String, token: String) -> String {
        "\(principal) \(Hexadecimal.text(of: hash(of: token)))"
    }

    private static func hash(of token: String) -> [UInt8] {
        Array(SHA256.hash(data: Array(token.utf8)))
    }

    private static func read(
        _ path: String, _ openFile: (String) -> Int32
    ) throws(TrustedFileError) -> (FileStamp, [[UInt8]: Principal]) {
        let (stamp, bytes) = try contents(of: path, openFile)
        do throws(TokenFileError) { return (stamp, try parse(String(decoding: bytes, as: UTF8.self), path)) } catch {
            throw TrustedFileError(error.description)
        }
    }

    private static func contents(
        of path: String, ofAnyOwner: Bool = false, _ openFile: (String) -> Int32
    ) throws(TrustedFileError) -> (FileStamp, [UInt8]) {
        try TrustedFile.read(
            path, expecting: "a principal and a hash in each line", othersMay: .none, ofAnyOwner: ofAnyOwner,
            limit: SyncServerLimits.tokenFileBytes, openFile)
    }

    /// Returns the bytes of a file that a server accepts, and the principals in it, for a program that changes the
    /// file.
    ///
    /// The checks are those of a server, except that root may change the file of any user.
    package static func accepted(
        at path: String
    ) throws(TokenFileError) -> (bytes: [UInt8], principals: [[UInt8]: Principal]) {
        let bytes: [UInt8]
        do throws(TrustedFileError) {
            bytes = try contents(of: path, ofAnyOwner: geteuid() == 0, TrustedFile.openFile).1
        } catch {
            throw TokenFileError(error)
        }
        return (bytes, try parse(String(decoding: bytes, as: UTF8.self), path))
    }

    /// Throws if a server would not accept a file with this text.
    package static func check(_ text: String, _ path: String) throws(TokenFileError) {
        do throws(TrustedFileError) {
            try TrustedFile.checkLength(text.utf8.count, SyncServerLimits.tokenFileBytes, path)
        } catch {
            throw TokenFileError(error)
        }
        _ = try parse(text, path)
    }

    package static func parse(_ text: String, _ path: String) throws(TokenFileError) -> [[UInt8]: Principal] {
        var principals: [[UInt8]: Principal] = [:]
        // Lines may end with CRLF, which is one Character, so splitting at "\n" would return a single line.
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 2, first.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                let digest = Hexadecimal.bytes(words[1]), digest.count == 32
            else {
                // The message does not show the line, because someone may have put a token into it.
                throw TokenFileError(
                    "\(path), line \(index + 1): expected a principal and the SHA-256 of its token in 64 hexadecimal digits"
                )
            }
            guard principals.updateValue(Principal(name: String(first)), forKey: digest) == nil else {
                throw TokenFileError("\(path), line \(index + 1): this token occurs twice")
            }
        }
        return principals
    }
}

/// An error in a token file. It reveals nothing of the file's contents.
public struct TokenFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
    /// Whether the file is missing or has no token: none has been created yet, all were removed, or the path is wrong.
    public let hasNoToken: Bool

    init(_ description: String, hasNoToken: Bool = false) {
        self.description = description
        self.hasNoToken = hasNoToken
    }

    init(_ error: TrustedFileError) {
        self.init(error.description, hasNoToken: error.isMissing)
    }
}
