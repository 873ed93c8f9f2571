package import SyncCore

/// Reads a device's outbox through its store, and again only what its file holds otherwise than before: to decode a long
/// outbox at every step takes longer than all other checks.
package struct OutboxReader {
    private var kept: [OutboxSequence: (row: OutboxRow, entry: OutboxEntry)] = [:]

    package init() {}

    /// - Parameter rows: what the file holds.
    /// - Throws: `Violation` when the store shows other entries than the file holds; what `store` throws.
    package mutating func entries(of store: any LocalStore, holding rows: [OutboxRow], on device: String) throws
        -> [OutboxEntry]
    {
        let known = kept
        kept.removeAll(keepingCapacity: true)
        var entries: [OutboxEntry] = []
        entries.reserveCapacity(rows.count)
        var position = 0
        while position < rows.count {
            // As much at once as is not known.
            let end = rows[position...].firstIndex { known[$0.sequence]?.row == $0 } ?? rows.count
            if end > position {
                let part = rows[position..<end]
                let read = try store.outbox(after: entries.last?.sequence, limit: part.count)
                guard read.map(\.sequence) == part.map(\.sequence) else {
                    throw Violation(
                        .I1,
                        "\(device) shows \(read.map(\.sequence)) in its outbox, its file holds \(part.map(\.sequence))")
                }
                entries += read
                position = end
            }
            if position < rows.count, let same = known[rows[position].sequence] {
                entries.append(same.entry)
                position += 1
            }
        }
        for (row, entry) in zip(rows, entries) { kept[row.sequence] = (row, entry) }
        return entries
    }
}
