import Foundation
import SimulationRecipes
import SyncSimulation

// The code of the guide "Read a report". GuideTests checks that this file contains each line of it.

private func readAReport(_ parts: WorldParts, _ file: URL) throws {
    let recording = WorldRecording()
    defer { try? Data(HTMLReport(recording).write()).write(to: file) }
    _ = try World(.drawn(seed: 42), parts: parts, recording: recording).run()
}
