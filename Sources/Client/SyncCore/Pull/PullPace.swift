/// The size of the requested pages and the time that each may take, adapted to the link.
package struct PullPace: Hashable, Sendable {
    /// Page size after a page came too late. It grows again with each page that arrives; nil means the policy's size.
    package private(set) var shrunkPage: Int?
    /// Number of times that the deadline is doubled. It grows when even a small page is late.
    package private(set) var stretch: Int

    package init(shrunkPage: Int? = nil, stretch: Int = 0) {
        self.shrunkPage = shrunkPage
        self.stretch = stretch
    }

    func rows(_ policy: SyncPolicy) -> Int { shrunkPage ?? policy.pageRows }

    func deadline(_ policy: SyncPolicy) -> Duration {
        min(policy.requestDeadline * (1 << stretch), max(policy.requestDeadline, policy.longestDeadline))
    }

    mutating func pageArrived(_ policy: SyncPolicy) {
        stretch = max(0, stretch - 1)
        shrunkPage = shrunkPage.flatMap { $0.increasedByQuarter < policy.pageRows ? $0.increasedByQuarter : nil }
    }

    mutating func pageWasLate(_ policy: SyncPolicy) {
        let rows = rows(policy)
        if rows > policy.smallestPage {
            shrunkPage = max(policy.smallestPage, rows / 2)
        } else {
            // The problem is not the number of rows but their size or the link. Request even fewer rows and allow more
            // time.
            shrunkPage = max(1, rows / 4)
            stretch = min(stretch + 1, Self.mostStretch)
        }
    }

    /// Ten doublings of one second, the shortest deadline of the settings, exceed `SyncPolicy.longestDeadline`.
    private static let mostStretch = 10
}
