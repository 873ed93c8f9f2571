public import SyncModel

/// One object of the input, as read: names and values that have not been looked up yet.
public struct ImportRow: Hashable, Sendable {
    /// The line on which the row begins, counted from 1.
    public let line: Int
    public let collection: CollectionName
    public let identity: Identity
    /// The space in which the row creates its record; nil if the row names none.
    public let space: SpaceID?
    /// The values, except references to other rows by key, which are in `links`.
    public let patch: Patch
    /// References to other rows by their keys.
    public let links: [Link]

    /// The identity of a row, by which a later import finds the same record.
    public enum Identity: Hashable, Sendable {
        /// The id of the record, as an export writes it.
        case record(RecordID)
        /// A name that is unique within the collection and the source.
        case key(String)
    }

    /// A reference to another row by its key.
    public struct Link: Hashable, Sendable {
        public let field: FieldName
        public let target: CollectionName
        public let key: String
    }
}

/// The reason why a row is not imported.
public struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, counted from 1; 0 when the whole input is at fault.
    public let line: Int
    /// States what was wrong and what was expected.
    public let reason: String

    public init(line: Int, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    public var description: String { line > 0 ? "line \(line): \(reason)" : reason }
}

/// The result of reading an input: the valid rows and the broken ones, both in input order.
public struct ImportedRows: Hashable, Sendable {
    public var rows: [ImportRow] = []
    public var problems: [ImportError] = []

    public init() {}
}
