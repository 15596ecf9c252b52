(function () {
  const last = document.querySelectorAll(".steps > ol > li").length - 1;
  if (last < 0) return;
  let at = -1;
  function show(n) {
    n = Math.max(0, Math.min(last, n));
    if (n === at) return;
    at = n;
    for (let i = 0; i <= last; i++) {
      document.getElementById("shown-" + i).hidden = i !== n;
      document.getElementById("step-" + i).classList.toggle("here", i === n);
    }
    document.getElementById("step-" + n).scrollIntoView({ block: "nearest" });
  }
  function fromAddress() { show(parseInt(location.hash.slice(1), 10) || 0); }
  addEventListener("hashchange", fromAddress);
  addEventListener("keydown", function (e) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    location.hash = "#" + Math.max(0, Math.min(last, at + by));
  });
  fromAddress();
})();
