#!/usr/bin/env bash
# A class on one machine with The Littlest JupyterHub, which is installed before:
#   sudo bash tljh.sh ADDRESS      ADDRESS: of the handout's git repository
# A second run installs what a newer handout brings.
set -euo pipefail
address=${1:?"Give the address of the handout's git repository."}
python=/opt/tljh/user/bin/python
folder=/opt/agentlib-handout

if [ -d "$folder" ]; then
    git -C "$folder" remote set-url origin "$address"
    git -C "$folder" pull --quiet --ff-only
else
    git clone --quiet "$address" "$folder"
fi
# --force-reinstall without what the course needs: a mended course may have the same version
(cd "$folder" && "$python" -m pip install -q -r requirements.txt nbgitpuller==1.3.0)
(cd "$folder" && "$python" -m pip install -q --no-deps --force-reinstall ./agentlib_course-*.whl)

tljh-config set limits.memory 1G
tljh-config set limits.cpu 1
tljh-config set services.cull.timeout 3600
tljh-config set services.cull.every 300
tljh-config set user_environment.default_app jupyterlab

settings=$("$python" -c 'from agentlib.course.lab import CONFIG_DIR; print(CONFIG_DIR)')
repo=$("$python" -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.argv[1], safe=""))' "$address")
cat > /opt/tljh/config/jupyterhub_config.d/agentlib.py <<END
# Each start pulls the handout and opens lesson 00.
c.Spawner.default_url = (
    "/git-pull?repo=$repo&branch=main&targetPath=course"
    "&urlpath=lab%2Ftree%2Fcourse%2Fnotebooks%2F00_start_here.ipynb"
)
c.Spawner.environment = {"JUPYTER_CONFIG_PATH": "$settings"}
END
tljh-config reload
