# Builds the tool from a clone of this repository, the one around this file:
#
#   brew tap-new local/pcc
#   cp packaging/homebrew/pcc-transport.rb "$(brew --repository local/pcc)/Formula/"
#   PCC_CLONE=$PWD brew install --HEAD local/pcc/pcc-transport
#
# It is called as the Debian and RPM packages are: `pcc` is the Portable C Compiler.
class PccTransport < Formula
  desc "Move and measure data over bad networks at full speed"
  license any_of: ["MIT", "Apache-2.0"]
  head "file://#{ENV.fetch("PCC_CLONE", File.expand_path("../..", __dir__))}", using: :git

  depends_on "cmake" => :build
  depends_on "rust" => :build

  def install
    system "vendor/patched"
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"pcc", "completions")
    system bin/"pcc", "man", man1
  end

  test do
    assert_match version.to_s.sub("HEAD-", ""), shell_output("#{bin}/pcc --version") if build.stable?
    assert_match "satellite", shell_output("#{bin}/pcc emulate --list")
  end
end
