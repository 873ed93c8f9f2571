public import SyncCore
public import SyncObjects
public import TomboloCommunity

extension Community {
    /// Returns a community without a store or network, whose source answers at once.
    public static func mock(runtime: EngineRuntime = .mock()) -> Community {
        Community(source: MockSource(catalog: CommunityCatalog.catalog), runtime: runtime)
    }

    /// Returns a community in which every write fails with the given error.
    public static func mock(failingWith failure: ModelError, runtime: EngineRuntime = .mock()) -> Community {
        Community(
            source: MockSource(catalog: CommunityCatalog.catalog, failingWith: failure), runtime: runtime)
    }
}
