import SyncCore
import SyncModel

/// Looks at what can be read in a device's store before and after it takes a page, whatever the engine asks of it.
protocol PageWatch: Sendable {
    /// Looks before the page.
    ///
    /// - Returns: what to compare with it afterwards, if the store has taken the page; nil when there is nothing to compare.
    func look(
        at store: SimulatedDevice.Store, before page: PullPage, on device: String
    ) throws(StoreFailure) -> Comparison?

    typealias Comparison = (SimulatedDevice.Store) throws(StoreFailure) -> Void
}
