package import SyncCore

/// A reader of a device's outbox, which asks the store only for the entries that have changed in the file.
///
/// Decoding a long outbox at every step would take longer than all other checks.
package struct OutboxReader {
    private var kept: [OutboxSequence: (row: OutboxRow, entry: OutboxEntry)] = [:]

    package init() {}

    /// Returns all entries of the outbox, in order.
    ///
    /// - Parameter rows: the entries in the file.
    /// - Throws: `Violation` when the store shows other entries than the file holds; any error from `store`.
    package mutating func entries(of store: any LocalStore, holding rows: [OutboxRow], on device: String) throws
        -> [OutboxEntry]
    {
        var entries: [OutboxEntry] = []
        entries.reserveCapacity(rows.count)
        var rest = rows[...]
        while !rest.isEmpty {
            // Read all consecutive unknown entries at once.
            let news = rest.prefix { kept[$0.sequence]?.row != $0 }
            if !news.isEmpty {
                let read = try store.outbox(after: entries.last?.sequence, limit: news.count)
                guard read.map(\.sequence) == news.map(\.sequence) else {
                    throw Violation(
                        .I1,
                        "\(device) shows \(read.map(\.sequence)) in its outbox, its file holds \(news.map(\.sequence))")
                }
                entries += read
            }
            let known = rest.dropFirst(news.count).prefix { kept[$0.sequence]?.row == $0 }
            entries += known.compactMap { kept[$0.sequence]?.entry }
            rest = rest.dropFirst(news.count + known.count)
        }
        kept = Dictionary(uniqueKeysWithValues: zip(rows, entries).map { ($0.sequence, ($0, $1)) })
        return entries
    }
}
