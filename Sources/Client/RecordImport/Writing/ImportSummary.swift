/// The counts of an import that has ended or was stopped.
package struct ImportSummary: Hashable, Sendable {
    package var created = 0
    package var updated = 0
    /// Rows whose record already matched.
    package var unchanged = 0
    /// The first rows that were not imported, in input order.
    package var problems: [ImportError] = []
    /// Number of all rows that were not imported.
    package var broken = 0
    /// Whether nothing was written because `strict` forbids broken rows.
    package var isStopped = false
    /// Number of transactions that were written.
    package var transactions = 0

    package init() {}

    mutating func note(_ problem: ImportError) {
        broken += 1
        if problems.count < ImportLimits.shownProblems { problems.append(problem) }
    }
}
