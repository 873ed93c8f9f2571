public import SyncModel

/// One object of the input, as it was read: names and values, not yet looked up.
public struct ImportRow: Hashable, Sendable {
    /// Where it began, counted from 1.
    public let line: Int
    public let collection: CollectionName
    public let identity: Identity
    /// Without references to rows by key: those are in `links`.
    public let patch: Patch
    /// References to other rows by their keys.
    public let links: [Link]

    /// The key by which a row is the same row the next time.
    public enum Identity: Hashable, Sendable {
        /// The record itself, as an export names it.
        case record(RecordID)
        /// A name that is unique in the collection and the source.
        case key(String)
    }

    public struct Link: Hashable, Sendable {
        public let field: FieldName
        public let target: CollectionName
        public let key: String
    }
}

/// A row that does not go in.
public struct ImportProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1; 0 when the whole input is at fault.
    public let line: Int
    /// Says what was wrong and what was expected.
    public let reason: String

    public init(line: Int, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    public var description: String { line > 0 ? "line \(line): \(reason)" : reason }
}

/// The result of reading an input: the good rows and the broken ones, both in the order of the input.
public struct ImportedRows: Hashable, Sendable {
    public var rows: [ImportRow] = []
    public var problems: [ImportProblem] = []

    public init() {}
}
