import SyncModel
import Testing

@Suite struct PercentEncodingTests {
    @Test func `a path keeps its unreserved characters, and all other bytes are percent-encoded`() {
        #expect(PercentEncoding.path("/a-z/A.Z_0~9") == "/a-z/A.Z_0~9")
        #expect(PercentEncoding.path("/my file?#%&\u{1}") == "/my%20file%3F%23%25%26%01")
        #expect(PercentEncoding.path("/é") == "/%C3%A9")
    }
}
