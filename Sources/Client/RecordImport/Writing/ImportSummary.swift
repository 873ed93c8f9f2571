/// The counts of an import that has ended, or was stopped.
public struct ImportSummary: Hashable, Sendable {
    public var created = 0
    public var updated = 0
    /// Rows whose record already was as the row says.
    public var unchanged = 0
    /// The first of the rows that did not go in, in the order of the input.
    public var problems: [ImportProblem] = []
    /// All of them.
    public var broken = 0
    /// Whether nothing was written because `strict` forbids broken rows.
    public var isStopped = false
    public var transactions = 0

    public init() {}

    mutating func note(_ problem: ImportProblem) {
        broken += 1
        if problems.count < ImportLimits.shownProblems { problems.append(problem) }
    }
}
