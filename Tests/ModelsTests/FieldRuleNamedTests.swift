import SyncModel
import SyncWire
import Testing
import TomboloCommunity
import TomboloModeling

@Suite struct FieldRuleNamedTests {
    @Test func `the catalog of the community is read back from its file with all rules`() throws {
        let bytes = try CatalogCodec.encode(CommunityCatalog.catalog)
        #expect(try CatalogCodec.decode(bytes, rule: FieldRule.named) == CommunityCatalog.catalog)
    }

    @Test func `a rule of a file checks what the rule of that name checks`() throws {
        let rule = try #require(FieldRule.named("url(https,http)"))
        #expect(rule.problem("https://example.org") == nil)
        #expect(rule.problem("ftp://example.org") != nil)
        #expect(FieldRule.named("name")?.problem("\u{202E}") != nil)
    }

    @Test(arguments: ["", "names", "url", "url()", "url(https", "url(https,)", "url(HTTPS)"])
    func `other names are no rules`(name: String) {
        #expect(FieldRule.named(name) == nil)
    }
}
