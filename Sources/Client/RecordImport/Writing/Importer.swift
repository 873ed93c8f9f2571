package import SyncCore
package import SyncModel

/// Writes rows into a local store, in transactions of bounded size.
///
/// A row with an error is skipped as a whole. An interruption can leave optional references unset; run the import again
/// to complete it.
package struct Importer: Sendable {
    let store: any LocalStore
    let space: SpaceID?
    let identity: RecordIdentity
    let rules: Rules
    let now: @Sendable () -> WallTime

    /// A function that returns the normalized values to write, or throws an error that names the violated rule of the
    /// model.
    package typealias Rules = @Sendable (Patch, CollectionName) throws -> Patch

    /// Creates an importer. Nothing is read or written yet.
    ///
    /// - Parameters:
    ///   - space: The space of new records; nil for the space that a row names, or else the default one. Existing
    ///     records stay in their space.
    ///   - now: The device's wall clock.
    package init(
        store: any LocalStore, space: SpaceID?, identity: RecordIdentity, rules: @escaping Rules,
        now: @escaping @Sendable () -> WallTime
    ) {
        self.rules = rules
        self.store = store
        self.space = space
        self.identity = identity
        self.now = now
    }

    /// Imports the rows.
    ///
    /// - Parameters:
    ///   - strict: Whether a single broken row stops the import before anything is written.
    ///   - progress: Called after each transaction with the number of rows processed so far, and in total.
    package func run(
        _ input: ImportedRows, strict: Bool, progress: (_ done: Int, _ total: Int) -> Void
    ) throws(StoreError) -> ImportSummary {
        var summary = ImportSummary()
        var plan = try ImportPlan(input.rows, store: store, space: space, identity: identity, rules: rules)
        let problems = (input.problems + plan.problems).sorted { $0.line < $1.line }
        for problem in problems { summary.note(problem) }
        if strict, summary.broken > 0 {
            summary.isStopped = true
            return summary
        }
        var done = 0
        while let chunk = plan.nextChunk() {
            if try store.commit(chunk.edits, in: chunk.space, now: now()) != nil { summary.transactions += 1 }
            done += chunk.rows
            progress(done, plan.rowCount)
        }
        summary.created = plan.created
        summary.updated = plan.updated
        summary.unchanged = plan.unchanged
        return summary
    }
}
