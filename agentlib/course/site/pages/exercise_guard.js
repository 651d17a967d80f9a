// What an exercise's page says where its own script cannot run. Written for old browsers.
(function () {
  function say(words) {
    var status = document.getElementById("status");
    status.textContent = words;
    status.className = "wrong";
  }
  var script = document.createElement("script");
  if (!("noModule" in script)) {
    say("This browser is too old to run Python in a page, and what you write here is not kept. The text can be read; to write and check code, use a newer browser, or the course on a computer.");
  }
  window.addEventListener("error", function (event) {
    if (event.target && event.target.id === "exercise-script") {
      say("A part of this page did not come, so nothing can be checked, and what you write here is not kept. Check the network, then load the page anew.");
    }
  }, true);
})();
