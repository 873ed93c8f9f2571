import AuthorityStoreSQL
import CPostgres
import SyncAuthority

/// An error of PostgreSQL, or of the connection to it.
struct PostgresError: DatabaseFailure, CustomStringConvertible {
    /// The reason, as the port has it.
    private let code: AuthorityStoreError.Code
    /// The primary message, which contains no values of records.
    let message: String

    var description: String { message }

    /// An error that this module has found.
    init(_ code: AuthorityStoreError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// This error of a commit, with a note that the commit may have taken effect.
    var withUnknownEffect: PostgresError { PostgresError(code, "\(message); the change may take effect nevertheless") }

    /// The error of a result.
    init(_ result: OpaquePointer?, on connection: OpaquePointer) {
        code = Self.code(of: PQresultErrorField(result, Self.sqlState).map { String(cString: $0) })
        message = Self.oneLine(PQresultErrorField(result, Self.primaryMessage) ?? PQerrorMessage(connection))
    }

    /// The error of a connection.
    init(connection: OpaquePointer?) {
        code = .unreachable
        message = Self.oneLine(PQerrorMessage(connection))
    }

    // The macros PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY, which Swift cannot import.
    private static let sqlState = Int32(UInt8(ascii: "C"))
    private static let primaryMessage = Int32(UInt8(ascii: "M"))

    private static func oneLine(_ text: UnsafeMutablePointer<CChar>?) -> String {
        guard let text else { return "out of memory" }
        return String(cString: text).split(whereSeparator: \.isNewline).joined(separator: "; ")
    }

    /// Converts the error to one of the port. See "PostgreSQL Error Codes" in its manual for the classes.
    func authorityError(during action: String) -> AuthorityStoreError {
        AuthorityStoreError(code, "could not \(action): \(message)")
    }

    /// Whether the session may not write.
    var isReadOnly: Bool { code == .readOnly }

    /// Whether the database was too busy for the statement.
    var isBusy: Bool { code == .busy }

    /// - Parameter state: the five characters of SQLSTATE; nil when the error did not come from the server.
    private static func code(of state: String?) -> AuthorityStoreError.Code {
        switch state {
        // A lock was not free in time, another transaction won, a statement or a transaction took too long, or there
        // are too many connections.
        case "55P03", "40001", "40P01", "57014", "25P03", "53300": .busy
        case "53100": .diskFull
        // A standby, or a database in recovery.
        case "25006", "57P03": .readOnly
        case "3D000", "3F000": .noDatabase
        case "28000", "28P01", "42501": .unsafePermissions
        // Text with a byte that PostgreSQL does not store, and values over its limits.
        case "22021", "22P05", "54000": .unstorable
        case "42P01", "42703": .otherSchema
        case let state? where state.hasPrefix("XX") || state.hasPrefix("23"): .corrupt
        case "58030": .inputOutput
        // There is no connection, or the database has ended the connection.
        default: .unreachable
        }
    }
}
