import SQLiteDatabase
import SyncCore

extension StoreError {
    /// Calls `body`, and converts each error that it throws to an error of the port.
    static func converting<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do { return try body() } catch { throw StoreError(error) }
    }

    /// Converts an error that SQLite, its files, or this module threw.
    init(_ error: any Error) {
        switch error {
        case let failure as StoreError: self = failure
        case let error as DatabaseError where error.code == .closed: self = .closed
        case let error as DatabaseError: self.init(error)
        default: self.init(.inputOutput, "the store failed: \(error)")
        }
    }

    init(_ error: DatabaseError) {
        let (code, explanation) = Self.kind(of: error.code)
        self.init(code, error.isFromSQLite && explanation != nil ? "\(explanation ?? ""); \(error)" : error.message)
    }

    private static func kind(of code: DatabaseError.Code) -> (Code, explanation: String?) {
        switch code {
        case .busy: (.busy, "another program has locked the database for longer than the busy timeout")
        case .diskFull: (.diskFull, "the disk is full")
        case .fileTooLarge: (.diskFull, nil)
        case .readOnly: (.readOnly, "the database or its folder cannot be written")
        // The store has already checked that the file exists, so SQLite failed to create the WAL next to the file.
        case .cannotOpen: (.readOnly, "the database or its WAL cannot be opened for writing")
        case .missingFile, .noDatabase: (.missingFile, nil)
        case .unsafePermissions: (.unsafePermissions, nil)
        case .notADatabase: (.notADatabase, "the file is not an SQLite database")
        case .corrupt: (.corrupt, "the database file is damaged")
        case .constraint: (.contradiction, "the data contradicts what is stored")
        case .tooLarge: (.tooLarge, "a value is larger than SQLite's limit")
        case .otherSchema: (.otherSchema, nil)
        case .newerSchema: (.newerSchema, nil)
        case .notDurable, .closed, .inputOutput: (.inputOutput, nil)
        }
    }

    static let withoutIdentity = StoreError(
        .corrupt, "sync_meta has no row: the database has lost its identity")

    static func recordWithoutSpace(_ collection: String) -> StoreError {
        StoreError(.corrupt, "a record of \(collection) is in a space that the database does not know")
    }

    static let closed = StoreError(.inputOutput, "the store has been closed")

    static func modelsChanged(_ file: String) -> StoreError {
        StoreError(
            .newerSchema,
            """
            another program has added collections or fields to \(file) while this one had it open; nothing was written: start \
            this program again
            """)
    }

    /// - Parameter failure: Why the writes before the loss of the file could not be saved; nil if they were.
    static func replaced(_ file: String, unsaved failure: StoreError? = nil) -> StoreError {
        let rest = failure.map { ", and what was written before could not be saved: \($0.message)" } ?? ""
        return StoreError(
            .missingFile, "\(file) was deleted or replaced while the database was open; nothing was written\(rest)")
    }
}
