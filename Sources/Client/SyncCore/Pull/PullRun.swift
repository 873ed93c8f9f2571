/// Counts the pages of pulls that follow each other without a pause.
///
/// A faulty server could announce more forever while cursor and version advance. A run therefore ends with a
/// contradiction after `mostChanges` changes, or after `mostSparsePages` nearly empty pages.
package struct PullRun: Hashable, Sendable {
    /// Number of records that the pages have changed.
    package private(set) var changes: Int
    /// Number of nearly empty pages, minus two for each other page; never below 0.
    package private(set) var sparsePages: Int

    package init(changes: Int = 0, sparsePages: Int = 0) {
        self.changes = changes
        self.sparsePages = sparsePages
    }

    /// Maximum number of changes in one run: as many as the largest snapshot has records.
    static let mostChanges = Int(SnapshotExtent.mostRows)
    /// Maximum of `sparsePages` in one run. A server that keeps 100,000 notices sends them in 1,000 pages.
    static let mostSparsePages = 2_000
    /// A page is sparse when it changes fewer records than the requested rows divided by this number: fewer than 3 of
    /// 1,000 rows. A page of records larger than about 1.4 MiB is therefore counted as sparse, too. As many of them as
    /// a run may have hold gigabytes.
    private static let sparseFraction = 256

    /// Counts a page after which the machine pulls again at once.
    ///
    /// - Parameters:
    ///   - changed: number of records that the page has changed.
    ///   - rows: number of rows that were requested.
    /// - Returns: the reason why the run must end; nil to continue.
    package mutating func pageArrived(changed: Int, of rows: Int) -> String? {
        changes += changed
        let isSparse = changed < max(1, rows / Self.sparseFraction)
        sparsePages = max(0, sparsePages + (isSparse ? 1 : -2))
        if sparsePages > Self.mostSparsePages {
            return "has sent more than \(Self.mostSparsePages) pages with hardly any records, and announces more"
        }
        if changes > Self.mostChanges {
            return
                "has sent \(changes) changes without a pause, and announces more; expected at most \(Self.mostChanges)"
        }
        return nil
    }
}
