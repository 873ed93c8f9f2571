public import SyncCore
import SyncRuntimeLive

/// The machine's clocks and random source, for programs that have no composition yet.
public enum ProgramRuntime {
    /// Returns the system's clocks and random source, and an executor that may block.
    public static func live() -> EngineRuntime { .live(label: "tombolo.program") }
}
