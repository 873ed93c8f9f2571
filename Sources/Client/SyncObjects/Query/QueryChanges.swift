import SyncModel
public import TomboloModeling

/// One change of the objects that match a query.
public struct QueryChange<M: Model>: Sendable {
    /// All matching objects after the change, in the order of the query.
    public let objects: [Live<M>]
    /// The objects that match now and did not match before. In the first element, these are all objects.
    public let inserted: [Live<M>]
    /// The objects that no longer match, or were deleted.
    public let removed: [Live<M>]
    /// The objects whose place among the objects that stayed has changed.
    public let moved: [Live<M>]
    /// The objects whose values changed, each with the changed fields; without fields when only the uid has arrived.
    public let changed: [(object: Live<M>, fields: ModelChange<M>)]
}

/// The changes of the objects that match a query, beginning with the objects that match now. A slow reader gets one
/// change for several writes.
public struct QueryChanges<M: Model>: AsyncSequence, Sendable {
    public typealias Element = QueryChange<M>
    public typealias Failure = ModelError

    let updates: QueryUpdates<Pair>
    let schema: ModelSchema?

    struct Pair: Sendable {
        let record: ShownRecord
        let object: Live<M>
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(updates: updates.makeAsyncIterator(), schema: schema)
    }

    /// The iterator, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        var updates: QueryUpdates<Pair>.Iterator
        let schema: ModelSchema?
        var last: [Pair] = []

        init(updates: QueryUpdates<Pair>.Iterator, schema: ModelSchema?) {
            self.updates = updates
            self.schema = schema
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(ModelError) -> QueryChange<M>? {
            guard let now = try await updates.next(isolation: actor) else { return nil }
            let before = last
            last = now
            return change(from: before, to: now)
        }

        public mutating func next() async throws(ModelError) -> QueryChange<M>? {
            try await next(isolation: #isolation)
        }

        private func change(from before: [Pair], to now: [Pair]) -> QueryChange<M> {
            let known = Dictionary(before.map { ($0.record.id, $0.record) }, uniquingKeysWith: { first, _ in first })
            let present = Set(now.map(\.record.id))
            let stayed = before.map(\.record.id).filter { present.contains($0) }
            let ordered = now.map(\.record.id).filter { known[$0] != nil }
            let displaced = ordered.displaced(from: stayed)
            return QueryChange(
                objects: now.map(\.object),
                inserted: now.filter { known[$0.record.id] == nil }.map(\.object),
                removed: before.filter { !present.contains($0.record.id) }.map(\.object),
                moved: now.filter { displaced.contains($0.record.id) }.map(\.object),
                changed: now.compactMap { pair in
                    guard let old = known[pair.record.id], old != pair.record else { return nil }
                    return (pair.object, fields(from: old, to: pair.record))
                })
        }

        private func fields(from old: ShownRecord, to new: ShownRecord) -> ModelChange<M> {
            var changes: [(field: FieldName, before: FieldValue, after: FieldValue)] = []
            for (field, values) in zip(schema?.fields ?? [], zip(old.values, new.values)) where values.0 != values.1 {
                changes.append((field.name, values.0, values.1))
            }
            return ModelChange(changes)
        }
    }
}

extension [RecordID] {
    /// Returns the smallest set of ids whose removal gives both lists the same order: all ids outside a longest
    /// increasing subsequence of the former positions. Of two objects that are swapped, the former first one has moved.
    ///
    /// - Parameter former: The same ids in their former order.
    func displaced(from former: [RecordID]) -> Set<RecordID> {
        let order = Dictionary(former.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        let positions = compactMap { order[$0] }
        // `starts[n]` is the index of the greatest start of an increasing subsequence of n + 1 positions, in the part
        // of the list that has been read, from its end.
        var starts: [Int] = []
        var next: [Int?] = [Int?](repeating: nil, count: positions.count)
        for index in positions.indices.reversed() {
            var (low, high) = (0, starts.count)
            while low < high {
                let middle = (low + high) / 2
                if positions[starts[middle]] > positions[index] { low = middle + 1 } else { high = middle }
            }
            if low > 0 { next[index] = starts[low - 1] }
            if low == starts.count { starts.append(index) } else { starts[low] = index }
        }
        var displaced = Set(self)
        var index = starts.last
        while let place = index {
            displaced.remove(self[place])
            index = next[place]
        }
        return displaced
    }
}
