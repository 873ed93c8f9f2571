package import SyncModel

/// One row of the input, whose names and values fit its model. Its keys have not been looked up yet.
package struct ImportRow: Hashable, Sendable {
    /// The line on which the row begins, counted from 1.
    package let line: Int
    package let collection: CollectionName
    package let identity: Identity
    /// The space in which the row creates its record; nil if the row names none.
    package let space: SpaceID?
    /// The values, except references to other rows by key, which are in `links`.
    package let patch: Patch
    /// References to other rows by their keys.
    package let links: [Link]

    /// The identity of a row, by which a later import finds the same record.
    package enum Identity: Hashable, Sendable {
        /// The id of the record, as an export writes it.
        case record(RecordID)
        /// A name that is unique within the collection and the source.
        case key(String)
    }

    /// A reference to another row by its key.
    package struct Link: Hashable, Sendable {
        package let field: FieldName
        package let target: CollectionName
        package let key: String
    }
}

/// The reason why a row is not imported.
package struct ImportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The line, counted from 1; 0 when the whole input is at fault.
    package let line: Int
    /// States what was wrong and what was expected.
    package let reason: String

    package init(line: Int, _ reason: String) {
        self.line = line
        self.reason = reason
    }

    package var description: String { line > 0 ? "line \(line): \(reason)" : reason }
}

/// The result of reading an input: the valid rows and the broken ones, both in input order.
package struct ImportedRows: Hashable, Sendable {
    package var rows: [ImportRow] = []
    package var problems: [ImportError] = []

    package init() {}
}
