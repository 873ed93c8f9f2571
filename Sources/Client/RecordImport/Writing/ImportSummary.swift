/// The counts of an import that has ended or was stopped.
public struct ImportSummary: Hashable, Sendable {
    public var created = 0
    public var updated = 0
    /// Rows whose record already matched.
    public var unchanged = 0
    /// The first rows that were not imported, in input order.
    public var problems: [ImportError] = []
    /// Number of all rows that were not imported.
    public var broken = 0
    /// Whether nothing was written because `strict` forbids broken rows.
    public var isStopped = false
    /// Number of transactions that were written.
    public var transactions = 0

    public init() {}

    mutating func note(_ problem: ImportError) {
        broken += 1
        if problems.count < ImportLimits.shownProblems { problems.append(problem) }
    }
}
