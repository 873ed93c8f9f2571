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
    ///   - space: The space of new records; nil for the space that a row names, or else the default one. Existing records
    ///     stay in their space.
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
        var plan = try plan(input.rows)
        var brokenLines = Set(plan.problems.map(\.line))
        let problems = (input.problems + plan.problems).sorted { $0.line < $1.line }
        for problem in problems { summary.note(problem) }
        if strict, summary.broken > 0 {
            summary.isStopped = true
            return summary
        }
        var doneLines: Set<Int> = []
        var failures = 0
        while let chunk = plan.nextChunk() {
            do throws(StoreError) {
                if try store.commit(chunk.edits, in: chunk.space, now: now()) != nil { summary.transactions += 1 }
                failures = 0
            } catch {
                guard error.mayBeOutdatedPlan, failures < ImportLimits.plansPerTransaction else { throw error }
                failures += 1
                plan = try self.plan(input.rows)
                for problem in plan.problems where !doneLines.contains(problem.line) {
                    guard brokenLines.insert(problem.line).inserted else { continue }
                    guard !strict else { throw error }
                    summary.note(problem)
                }
                continue
            }
            // After a new plan, rows that were written before come again.
            for row in chunk.rows where doneLines.insert(row.line).inserted { summary.note(row.effect) }
            progress(doneLines.count, plan.rowCount)
        }
        return summary
    }

    private func plan(_ rows: [ImportRow]) throws(StoreError) -> ImportPlan {
        try ImportPlan(rows, store: store, space: space, identity: identity, rules: rules)
    }
}

extension StoreError {
    /// Whether the reason may be that another process has created or deleted records since the plan was made.
    fileprivate var mayBeOutdatedPlan: Bool {
        switch code {
        case .duplicateRecord, .missingRecord, .danglingReference: true
        default: false
        }
    }
}
