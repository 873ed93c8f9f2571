import Testing

@testable import SyncRecording

@Suite struct SecondsTextTests {
    @Test(arguments: [
        (Duration.zero, "0"), (.seconds(30), "30"), (.milliseconds(250), "0.25"),
        (Duration(secondsComponent: 1, attosecondsComponent: 1), "1.000000000000000001"),
        (.milliseconds(-1_500), "-1.5"), (.nanoseconds(-1), "-0.000000001"),
    ])
    func `a duration has one text, exact to the attosecond, and comes back from it`(duration: Duration, text: String) {
        #expect(SecondsText.text(duration) == text)
        #expect(SecondsText.duration(text) == duration)
    }

    @Test(arguments: [
        "", "-", ".", "1.", ".5", "+1", "1e3", "1.5.2", "1.1234567890123456789", "1000000000", "99999999999999999999",
        " 1", "1s", "--1", "\u{0661}",
    ])
    func `invalid and excessive durations are refused`(text: String) {
        #expect(SecondsText.duration(text) == nil)
    }
}
