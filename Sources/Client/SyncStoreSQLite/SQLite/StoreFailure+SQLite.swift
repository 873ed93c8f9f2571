import GRDB
import GRDBSQLite
import SyncCore

extension StoreFailure {
    /// Returns the store's error for an SQLite result code.
    static func sqlite(_ code: Int32, _ message: String, while action: String) -> StoreFailure {
        let text = "SQLite could not \(action): \(message) (code \(code))"
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            return StoreFailure(.busy, "another program holds the database longer than the busy timeout; \(text)")
        case SQLITE_FULL: return StoreFailure(.diskFull, "the disk is full: \(text)")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            return StoreFailure(.readOnly, "the database or its folder cannot be written; \(text)")
        case SQLITE_CANTOPEN:
            // The store has already checked that the file exists, so SQLite failed to create the WAL next to it.
            return StoreFailure(.readOnly, "the database or its log cannot be opened for writing; \(text)")
        case SQLITE_NOTADB: return StoreFailure(.notADatabase, "the file is not an SQLite database; \(text)")
        case SQLITE_CORRUPT: return StoreFailure(.corrupt, "the database file is damaged; \(text)")
        case SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT:
            return StoreFailure(.contradiction, "the data contradicts what is stored; \(text)")
        case SQLITE_TOOBIG: return StoreFailure(.tooLarge, "a value is larger than SQLite takes; \(text)")
        // SQLite cannot grow the WAL index. This is how it reports a full disk before it writes anything.
        case SQLITE_IOERR where code == Self.noRoomForLogIndex:
            return StoreFailure(.diskFull, "the disk is full: \(text)")
        default:
            return StoreFailure(.inputOutput, text)
        }
    }

    /// SQLITE_IOERR_SHMSIZE, a C macro that Swift cannot import.
    private static let noRoomForLogIndex = SQLITE_IOERR | 19 << 8

    static let withoutIdentity = StoreFailure(
        .corrupt, "sync_meta has no row: the database has lost its identity")

    static let closed = StoreFailure(.inputOutput, "the store has been closed")

    static func replaced(_ file: String) -> StoreFailure {
        StoreFailure(.missingFile, "\(file) was deleted or replaced while it was open; nothing was written")
    }

    /// Returns the store's error for an error that GRDB has thrown.
    static func wrapping(_ error: any Error, while action: String) -> StoreFailure {
        switch error {
        case let failure as StoreFailure: failure
        case let error as DatabaseError:
            .sqlite(error.extendedResultCode.rawValue, error.message ?? "no message", while: action)
        default: StoreFailure(.inputOutput, "could not \(action): \(error)")
        }
    }
}
