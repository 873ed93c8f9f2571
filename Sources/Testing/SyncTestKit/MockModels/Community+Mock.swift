public import Models
public import SyncCore

extension Community {
    /// Returns a community with no store and no network, which responds at once.
    public static func mock(runtime: EngineRuntime = .mock()) -> Community {
        Community(LiveObjects(source: MockSource(), runtime: runtime))
    }

    /// Returns a community in which every write fails with the given error.
    public static func mock(failingWith failure: ModelFailure, runtime: EngineRuntime = .mock()) -> Community {
        Community(LiveObjects(source: MockSource(failingWith: failure), runtime: runtime))
    }
}
