public import SyncCore
import SyncRuntimeLive

/// The machine's clocks and random source, for programs that have no composition yet.
public enum ProgramRuntime {
    public static func live() -> EngineRuntime { .live(label: "tombolo.program") }
}
