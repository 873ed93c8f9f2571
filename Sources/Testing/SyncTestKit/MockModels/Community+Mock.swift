public import Models
public import SyncCore

extension Community {
    /// No store, no network, answers at once.
    public static func mock(runtime: EngineRuntime = .mock()) -> Community {
        Community(LiveObjects(source: MockSource(), runtime: runtime))
    }

    /// Every write fails with the given error.
    public static func mock(failingWith failure: ModelFailure, runtime: EngineRuntime = .mock()) -> Community {
        Community(LiveObjects(source: MockSource(failingWith: failure), runtime: runtime))
    }
}
