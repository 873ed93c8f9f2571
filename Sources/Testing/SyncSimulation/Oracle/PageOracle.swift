import SyncCore
import SyncModel

/// An observer that compares the readable contents of a device's store before and after it applies a page.
protocol PageOracle: Sendable {
    /// Observes the store before it applies a page.
    ///
    /// - Returns: the comparison to run once the store has applied the page; nil when there is nothing to compare.
    func inspect(
        at store: SimulatedDevice.Store, before page: PullPage, on device: String
    ) throws(StoreError) -> Comparison?

    typealias Comparison = (SimulatedDevice.Store) throws(StoreError) -> Void
}
